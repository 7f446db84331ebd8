/** The tables of linked accounts. Frozen once published. */
export const linkingTables = `
create table link_codes (
  code text primary key,
  platform text not null,
  account_id text not null,
  side text not null,
  expires_at integer not null,
  unique (platform, account_id)
) strict;

create table link_requests (
  id text primary key,
  state text not null check (state in ('open', 'merging', 'done')),
  from_account text not null,
  to_account text not null,
  from_side text not null,
  to_side text not null,
  expires_at integer not null,
  "union" text,
  at integer not null
) strict;
create index link_requests_open on link_requests (at) where state <> 'done';

create table link_origins (
  platform text not null,
  account_id text not null,
  person_id text not null,
  stamp text not null,
  at integer not null,
  primary key (platform, account_id)
) strict;

create index memory_events_turn on memory_events (turn_id) where turn_id is not null;
create index turns_day on turns (started_at);
`;
