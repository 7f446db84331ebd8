/**
 * Makes the library acknowledge late. Its App acknowledges an event before anybody has seen it, so that a crash right
 * then would lose a message; here the receiver gets an acknowledgement only after `processEvent` resolved.
 */
import type { App, ReceiverEvent } from "@slack/bolt";

/** What a receiver is given instead of the App. A rejection means: not acknowledged, Slack sends it again. */
export function lateAck(app: App): App {
  const shim: Pick<App, "processEvent"> = {
    async processEvent(event: ReceiverEvent): Promise<void> {
      await app.processEvent({ ...event, ack: () => Promise.resolve() });
      await event.ack();
    },
  };
  return shim as App; // receivers call nothing else of it
}
