/** Answers at the response address that came with a slash command or a button press: no token, no message id. */
import { DeliveryError, errorText } from "../../src/domain/errors.js";
import { deliveryError, neverLeft } from "./api-errors.js";

/** Posts to the response address of a slash command or button press; it works where the bot is no member, and needs no token. */
export async function respond(url: string, body: Record<string, unknown>, signal: AbortSignal): Promise<void> {
  try {
    const response = await fetch(url, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify(body),
      redirect: "error",
      signal,
    });
    await response.body?.cancel();
    if (response.status === 200) return;
    throw deliveryError("response_url", new Error(`status ${response.status}`), { status: response.status, json: true });
  } catch (error) {
    if (error instanceof DeliveryError) throw error;
    throw new DeliveryError(neverLeft(error) ? "delivery.not-sent" : "delivery.unknown", `response_url: ${errorText(error)}`, {
      cause: error,
    });
  }
}
