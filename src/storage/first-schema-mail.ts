/**
 * The second half of schema version 1: inbox, outbox, jobs and the memory log. Frozen once published, like the first half
 * (first-schema.ts), whose conventions hold here too.
 */

export const mailTables = `
create table inbox (
  id integer primary key autoincrement,
  key text not null unique,
  platform text not null,
  chat_id text not null,
  kind text not null,
  event text not null,
  bare integer not null default 0,
  state text not null default 'new' check (state in ('new', 'waiting', 'running', 'done')),
  received_at integer not null,
  turn_id text,
  disposition text,
  reason text,
  repeats integer not null default 0
) strict;
create index inbox_open on inbox (id) where state in ('new', 'waiting');
create index inbox_chat on inbox (platform, chat_id, id);
create index inbox_turn on inbox (turn_id) where turn_id is not null;
create index inbox_worded on inbox (received_at) where state = 'done' and bare = 0;
create index inbox_age on inbox (received_at);

create table seen_chats (
  platform text not null,
  chat_id text not null,
  kind text not null,
  message_id text not null,
  at integer not null,
  primary key (platform, chat_id)
) strict;
create index seen_chats_newest on seen_chats (platform, at);

create table outbox (
  id integer primary key autoincrement,
  delivery_id text not null unique,
  kind text not null check (kind in ('reply', 'command', 'notice')),
  platform text not null,
  chat_id text not null,
  thread_id text not null default '',
  route text not null,
  part text not null,
  buttons text,
  file text,
  turn_id text,
  session_id text,
  takes_over text,
  silent integer not null default 0,
  state text not null default 'waiting' check (state in ('waiting', 'sending', 'sent', 'unknown', 'refused', 'expired')),
  attempts integer not null default 0,
  created_at integer not null,
  next_at integer not null,
  sent text,
  sent_at integer,
  error text,
  noted integer not null default 0,
  bare integer not null default 0
) strict;
create index outbox_lane on outbox (platform, chat_id, thread_id, id) where state in ('waiting', 'sending');
create index outbox_due on outbox (next_at) where state = 'waiting';
create index outbox_turn on outbox (turn_id) where turn_id is not null;
create index outbox_unknown on outbox (platform, chat_id, thread_id) where state = 'unknown' and noted = 0;
create index outbox_reply on outbox (platform, chat_id, thread_id, id) where kind = 'reply';
create index outbox_counts on outbox (platform, state, created_at);
create index outbox_age on outbox (created_at);
`;

export const workTables = `
create table intents (
  id text primary key,
  kind text not null,
  space_id text not null,
  session_id text not null,
  payload text not null,
  state text not null default 'open' check (state in ('open', 'active', 'done', 'failed')),
  run_at integer not null,
  attempts integer not null default 0,
  max_attempts integer not null,
  lease_until integer,
  lease_by text,
  fence integer not null default 0,
  error text,
  created_at integer not null,
  done_at integer
) strict;
create index intents_open on intents (run_at) where state = 'open';
create index intents_active on intents (lease_until) where state = 'active';
create index intents_session on intents (kind, session_id) where state in ('open', 'active');
create index intents_space on intents (kind, space_id) where state in ('open', 'active');
create index intents_failed on intents (created_at) where state = 'failed';
create index intents_done on intents (done_at) where done_at is not null;

create table watermarks (
  kind text not null,
  session_id text not null,
  up_to integer not null,
  primary key (kind, session_id)
) strict;

create table counters (
  space_id text primary key,
  memory_turns integer not null default 0,
  skill_iterations integer not null default 0
) strict;

create table memory_events (
  id integer primary key autoincrement,
  target text not null check (target in ('user', 'memory')),
  owner_id text not null,
  action text not null,
  had_before integer not null,
  before_text text,
  had_after integer not null,
  after_text text,
  file_hash text not null,
  origin text not null,
  account_key text,
  person_id text,
  session_id text,
  turn_id text,
  job_id text,
  evidence text,
  at integer not null,
  undone_by integer
) strict;
create index memory_events_owner on memory_events (target, owner_id, id);
create index memory_events_job on memory_events (job_id) where job_id is not null;

create table memory_pending (
  id integer primary key autoincrement,
  person_id text not null,
  content text not null,
  evidence text,
  session_id text not null,
  at integer not null,
  unique (person_id, content)
) strict;
`;
