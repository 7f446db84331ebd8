/**
 * What Slack can do, as values. Pace: one message a second per channel and several hundred a minute for the bot, but
 * `chat.update` only about 50 a minute: hence few per second, of which previews get half.
 */
import type { Capabilities } from "../../src/ports/platform-adapter.js";
import { maxPartLength } from "./render.js";

export const capabilities: Capabilities = {
  maxPartLength,
  promptNotes:
    "You are writing on Slack. It shows Markdown: bold, italics, lists, headings, links, code blocks with a language, and tables. " +
    "Raw HTML and images by link do not show. Mentions you write do not notify anybody. Answers in a channel stand in a thread, so keep them short.",
  resend: "lookup",
  reactions: true,
  edits: true,
  buttons: true,
  files: true,
  previewMs: { dm: 1_500, group: 1_500, max: 5_000 },
  pace: { chatPerSecond: 1, groupPerMinute: 60, botPerSecond: 4 },
  signOfLifeMs: 0,
  commandForm: "/mneme {command}",
  followsThreads: true,
};
