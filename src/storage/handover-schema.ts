/** The tables of hand-overs, apart from what works on them: the list of migrations must not reach the database it is part of. */

/** Frozen once published: a change is a new migration. */
export const handoverTables = `
create table handovers (
  session_id text primary key references sessions (id) on delete cascade,
  text text not null,
  head_ids text not null,
  tail_ids text not null,
  at integer not null
) strict;

create table prepared_handovers (
  session_id text primary key references sessions (id) on delete cascade,
  text text not null,
  head_ids text not null,
  up_to integer not null,
  at integer not null
) strict;
`;
