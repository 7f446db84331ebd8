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
