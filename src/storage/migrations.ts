/**
 * The schema's history, in order. Append only: the version of a step is its place in this list, and a published step is
 * never changed. A step that needs more than a page gets a file of its own.
 */
import { mailTables, workTables } from "./first-schema-mail.js";
import { conversationTables, identityTables } from "./first-schema.js";
import { handoverTables } from "./handover-schema.js";
import { linkingTables } from "./linking-schema.js";
import type { Migration } from "./migrate.js";
import { providerTables } from "./provider-schema.js";
import { createSearch } from "./search-schema.js";
import { skillTables } from "./skill-schema.js";

export const migrations: readonly Migration[] = [
  {
    name: "first-schema",
    up(tx) {
      tx.exec(identityTables);
      tx.exec(conversationTables);
      tx.exec(mailTables);
      tx.exec(workTables);
    },
  },
  {
    name: "job-workers",
    up(tx) {
      tx.exec("create table job_workers (worker text primary key, at integer not null) strict");
    },
  },
  {
    name: "skills",
    up(tx) {
      tx.exec(skillTables);
    },
  },
  {
    name: "search",
    up: createSearch,
  },
  {
    name: "external-memory",
    up(tx) {
      tx.exec(providerTables);
    },
  },
  {
    name: "linked-accounts",
    up(tx) {
      tx.exec(linkingTables);
    },
  },
  {
    name: "handovers",
    up(tx) {
      tx.exec(handoverTables);
    },
  },
];
