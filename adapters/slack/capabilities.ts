/** What Slack can do, as values. Pace: about one message a second per channel; chat.update has 50 a minute for the bot. */
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
  pace: { chatPerSecond: 1, groupPerMinute: 60, botPerSecond: 10 },
  signOfLifeMs: 0,
  commandForm: "/mneme {command}",
  followsThreads: true,
};
