/**
 * Job catalogue: name, payload, retry policy. An intent is a job written down in the transaction that made it
 * necessary; it stays open until the transaction that stores its effect closes it. Payloads name what they cover.
 */
import { z } from "zod";

/** Version of the payloads below; an unknown one stays visible as failed. */
export const payloadVersion = 1;

const covering = z.object({
  v: z.literal(payloadVersion),
  sessionId: z.string().min(1),
  spaceId: z.string().min(1),
  /** Last message id that the job has to cover; it handles everything above the stored watermark up to here. */
  upTo: z.number().int().nonnegative(),
});

/** Each kind with its payload schema and how often it is tried before it stays visible as failed. */
export const jobKinds = {
  review: { payload: covering.extend({ memory: z.boolean(), skills: z.boolean(), flush: z.boolean() }), attempts: 5 },
  stretch: { payload: covering, attempts: 10 },
  title: { payload: covering, attempts: 3 },
  /** Prepares the hand-over of a long conversation for its next turn. `asked`: by the person, who is told of the result. */
  handover: { payload: covering.extend({ asked: z.boolean(), focus: z.string().max(500).optional() }), attempts: 3 },
  /**
   * Turns for the external memory; days of outage fit into the attempts. `exceptTurn`: not yet this newest one. `forgetTurns`: take these back.
   * `startOver`: delete the remote session first. `end`: the session has ended. `removes` in all of these: until it is done nothing is recalled
   * from the space.
   */
  "provider-sync": {
    payload: covering.extend({
      removes: z.boolean(),
      exceptTurn: z.string().min(1).optional(),
      forgetTurns: z.array(z.string().min(1)).optional(),
      startOver: z.boolean().optional(),
      end: z.boolean().optional(),
    }),
    attempts: 500,
  },
  /** Recall prepared for a session's next turn. */
  "provider-prefetch": { payload: covering, attempts: 2 },
  /** Brings the external copy of a memory file in line. Its session is the owner (`user-ID` or `memory-ID`). */
  "provider-mirror": {
    payload: covering.extend({ removes: z.boolean(), target: z.enum(["user", "memory"]), ownerId: z.string().min(1) }),
    attempts: 500,
  },
  /** Deletes a person at the external memory. */
  "provider-forget": {
    payload: covering.extend({
      removes: z.literal(true),
      personId: z.string().min(1),
      aliases: z.array(z.string().min(1)),
      groupSpaceIds: z.array(z.string().min(1)),
      sessions: z.array(z.object({ sessionId: z.string().min(1), generation: z.number().int().nonnegative() })),
    }),
    attempts: 500,
  },
} as const;

export type JobKind = keyof typeof jobKinds;
export type JobPayload<Kind extends JobKind> = z.infer<(typeof jobKinds)[Kind]["payload"]>;

export interface NewIntent {
  /** Idempotency key: letters, digits, "-" and "_" (no ":", not all digits; a queue uses it as job id). */
  readonly id: string;
  readonly kind: JobKind;
  readonly spaceId: string;
  readonly sessionId: string;
  readonly payload: JobPayload<JobKind>;
  /** Not before this instant, epoch ms. */
  readonly runAt: number;
}
