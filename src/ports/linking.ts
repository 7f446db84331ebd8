/** Accounts of one person: codes, requests, the union of two people and its end. Same promises as ports/stores.ts. */
import type { Route } from "../domain/message.js";

export interface LinkSide {
  readonly platform: string;
  readonly accountId: string;
  readonly personId: string;
  /** Where this side's words go. */
  readonly route: Route;
  readonly confirmed: boolean;
  /** What this side is spoken to in. */
  readonly language: "en" | "zh";
}

export interface LinkCode {
  readonly code: string;
  readonly side: LinkSide;
  readonly expiresAt: number;
}

/** open: sides are asked · merging: both have confirmed; the union is carried out when nobody writes. */
export interface LinkRequest {
  readonly id: string;
  readonly state: "open" | "merging";
  /** `from` made the code, `to` used it. */
  readonly from: LinkSide;
  readonly to: LinkSide;
  readonly expiresAt: number;
}

/** A union of two people, carried out in the database; files follow. */
export interface Union {
  readonly requestId: string;
  /** The person that goes on, and the one that becomes part of it. */
  readonly keep: string;
  readonly gone: string;
  /** For the names of the originals' copies. */
  readonly stamp: string;
  readonly sides: readonly LinkSide[];
}

/** What an account had before it was linked. */
export interface Origin {
  readonly personId: string;
  readonly stamp: string;
}

export interface LinkingStore {
  /** Replaces an earlier code of the account. */
  putCode(code: LinkCode, now: number): Promise<void>;
  /** Takes a valid code away, so that it works once. */
  takeCode(code: string, now: number): Promise<LinkCode | undefined>;
  putRequest(request: LinkRequest, now: number): Promise<void>;
  /** The open request that waits for this account's answer or the other side's. */
  requestOf(platform: string, accountId: string, now: number): Promise<LinkRequest | undefined>;
  requestById(id: string, now: number): Promise<LinkRequest | undefined>;
  /** Marks one side; returns the request as it is now, undefined when it is gone. Never twice by one side for the other. */
  confirm(id: string, side: { readonly platform: string; readonly accountId: string }, now: number): Promise<LinkRequest | undefined>;
  drop(id: string): Promise<void>;
  /** open → merging. */
  accept(id: string): Promise<void>;
  /** Requests whose union is not finished, oldest first. */
  merging(): Promise<LinkRequest[]>;
  /**
   * Joins both people in one transaction: accounts, sessions, open jobs, notes, choices. Undefined (and nothing done) while a turn or job of
   * either runs. Idempotent: the same request gives the same union.
   */
  unite(requestId: string, now: number): Promise<Union | undefined>;
  /** The files were merged: the request is over. */
  finish(requestId: string, now: number): Promise<void>;
  /** What this account had before it was linked; undefined when it never was. */
  originOf(platform: string, accountId: string): Promise<Origin | undefined>;
  /**
   * Gives an account a person of its own again, with its sessions. Undefined while a turn or job of the person runs. `from`: the person it
   * leaves, `to`: its own.
   */
  part(
    platform: string,
    accountId: string,
    now: number,
  ): Promise<{ readonly from: string; readonly to: string; readonly origin: Origin } | undefined>;
}
