/**
 * The tables of schema version 1 as SQL. Frozen once published: a change is a new migration. Times are epoch milliseconds,
 * booleans 0 or 1, objects JSON; an empty thread id means none, so that a lane can be an index key.
 */

export const identityTables = `
create table people (id text primary key, created_at integer not null) strict;

create table spaces (
  id text primary key,
  kind text not null check (kind in ('person', 'group')),
  platform text,
  chat_id text,
  created_at integer not null
) strict;
create unique index spaces_chat on spaces (platform, chat_id) where kind = 'group';

create table accounts (
  platform text not null,
  account_id text not null,
  person_id text not null references people (id),
  display_name text not null,
  handle text,
  role text not null default 'guest' check (role in ('operator', 'user', 'guest')),
  admitted_at integer,
  created_at integer not null,
  primary key (platform, account_id)
) strict;
create index accounts_person on accounts (person_id);

create table chats (
  platform text not null,
  chat_id text not null,
  kind text not null check (kind in ('dm', 'group', 'thread')),
  parent_id text,
  container_id text,
  title text,
  admitted integer not null default 0,
  unreachable text,
  space_id text references spaces (id),
  seen_at integer not null,
  primary key (platform, chat_id)
) strict;

create table codes (
  code text primary key,
  subject text not null check (subject in ('account', 'chat')),
  platform text not null,
  subject_id text not null,
  label text not null,
  route text not null,
  created_at integer not null,
  expires_at integer not null,
  shown_at integer not null
) strict;

create table wrong_tries (id integer primary key, caller text not null, at integer not null) strict;
create index wrong_tries_caller on wrong_tries (caller, at);

create table audit (
  id integer primary key autoincrement,
  at integer not null,
  actor text not null,
  act text not null,
  subject text not null,
  detail text
) strict;

create table settings (
  scope text not null,
  key text not null,
  value text not null,
  updated_at integer not null,
  primary key (scope, key)
) strict;
`;

export const conversationTables = `
create table sessions (
  id text primary key,
  key text not null,
  space_id text not null,
  space_kind text not null check (space_kind in ('person', 'group')),
  person_id text,
  platform text not null,
  chat_id text not null,
  chat_kind text not null,
  thread_id text,
  origin text not null,
  route text not null,
  title text,
  is_private integer not null default 0,
  parent_id text,
  frozen text,
  needs_rebuild integer not null default 0,
  created_at integer not null,
  last_active_at integer not null,
  ended_at integer,
  end_reason text
) strict;
create unique index sessions_active on sessions (key) where ended_at is null;
create index sessions_idle on sessions (last_active_at) where ended_at is null;
create index sessions_space on sessions (space_id, last_active_at);
create index sessions_person on sessions (person_id) where person_id is not null;
create index sessions_chat on sessions (platform, chat_id);

create table messages (
  id integer primary key autoincrement,
  session_id text not null references sessions (id),
  turn_id text not null,
  seq integer not null,
  role text not null check (role in ('user', 'assistant', 'tool')),
  entry text not null,
  said text,
  text text generated always as (coalesce(said, json_extract(entry, '$.content'))) virtual,
  account_id text,
  author text,
  at integer not null,
  unique (turn_id, seq)
) strict;
create index messages_session on messages (session_id, id);

create table turns (
  id text primary key,
  session_id text not null references sessions (id),
  claim integer not null default 1,
  attempts integer not null default 1,
  state text not null default 'running' check (state in ('running', 'answered', 'stopped', 'interrupted', 'failed')),
  person_id text not null,
  speaker text not null,
  route text not null,
  user_entry text not null,
  said text not null,
  preview text,
  reason text,
  input_tokens integer not null default 0,
  cached_tokens integer not null default 0,
  output_tokens integer not null default 0,
  usage_exact integer not null default 1,
  model text,
  iterations integer not null default 0,
  started_at integer not null,
  ended_at integer
) strict;
create unique index turns_running on turns (session_id) where state = 'running';
create index turns_session on turns (session_id, started_at);
create index turns_person on turns (person_id, started_at);

create table journal_entries (
  turn_id text not null references turns (id),
  seq integer not null,
  entry text not null,
  primary key (turn_id, seq)
) strict;

create table journal_calls (
  turn_id text not null references turns (id),
  entry_seq integer not null,
  call_id text not null,
  result text,
  primary key (turn_id, entry_seq, call_id)
) strict;
`;
