/** The one place that derives a route from another. */
import type { Route } from "../domain/message.js";

/** Same chat and thread, for something that answers no message in particular. */
export function withoutReply(route: Route): Route {
  const { replyTo: _replyTo, hint: _hint, ...rest } = route;
  return rest;
}
