/** The tables of the skill log, made by the migration of that name; a published statement is never changed. */
export const skillTables = `
create table skill_events (
  id integer primary key autoincrement,
  scope text not null check (scope in ('shared', 'space')),
  owner_id text not null,
  skill text not null,
  action text not null,
  note text,
  origin text not null,
  account_key text,
  person_id text,
  session_id text,
  turn_id text,
  job_id text,
  at integer not null,
  undone_by integer
) strict;
create index skill_events_owner on skill_events (scope, owner_id, skill, id);
create index skill_events_job on skill_events (job_id) where job_id is not null;

create table skill_event_files (
  event_id integer not null references skill_events (id) on delete cascade,
  path text not null,
  before_hash text,
  before_bytes blob,
  after_hash text,
  after_bytes blob,
  primary key (event_id, path)
) strict;

create table skill_uses (
  space_id text not null,
  skill text not null,
  views integer not null,
  last_at integer not null,
  primary key (space_id, skill)
) strict;
`;
