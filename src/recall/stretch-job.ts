/**
 * The job that keeps the stretch index in step with the transcripts. A stretch that has grown is indexed anew; what is indexed already
 * stays as it is, so the job may run any number of times.
 */
import type { JobHandler } from "../ports/job-queue.js";
import type { SearchIndex } from "../ports/search.js";

/** Does `stretch` jobs. */
export function createStretchHandler({ index }: { readonly index: Pick<SearchIndex, "indexStretches"> }): JobHandler<"stretch"> {
  return async ({ payload }) => {
    // All there is by now: the turns of half a minute share one job, which names the first of them.
    await index.indexStretches(payload.sessionId, Number.MAX_SAFE_INTEGER);
    return { watermarks: [{ kind: "stretch", sessionId: payload.sessionId, upTo: payload.upTo }] };
  };
}
