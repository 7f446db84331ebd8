/** Tables of the external memory. Frozen once published: a change is a new migration. Cached recall may be dropped at any time; the other rows may not. */

export const providerTables = `
create table provider_state (
  name text primary key,
  failures integer not null default 0,
  opened_at integer,
  trial_at integer,
  told integer not null default 0,
  last_error text,
  last_failure_at integer,
  last_success_at integer
) strict;

create table provider_cache (
  session_id text not null,
  layer text not null,
  space_id text not null,
  person_id text not null,
  turn integer not null,
  text text not null,
  at integer not null,
  primary key (session_id, layer)
) strict;
create index provider_cache_space on provider_cache (space_id);
create index provider_cache_person on provider_cache (person_id);

create table provider_drops (scope text primary key, at integer not null) strict;

create table provider_refs (
  provider text not null,
  kind text not null check (kind in ('turn', 'entry', 'fact')),
  local_id text not null,
  scope text not null,
  state text not null default 'sending' check (state in ('sending', 'stored', 'refused')),
  remote_ids text not null default '[]',
  at integer not null,
  primary key (provider, kind, local_id)
) strict;
create index provider_refs_scope on provider_refs (scope, kind);

create table provider_sessions (session_id text primary key, generation integer not null) strict;

create table provider_aliases (
  person_id text not null,
  alias text not null,
  at integer not null,
  primary key (person_id, alias)
) strict;
`;
