/** The tools of Honcho as the model is told of them. */
import { z } from "zod";
import type { ProviderTool } from "../ports/memory-provider.js";

const query = z.string().min(1).max(2000).describe("What to look for, in plain words.");

export const honchoTools: readonly ProviderTool[] = [
  {
    name: "honcho_profile",
    description: "The short card of standing facts about the person who speaks: name, role, preferences. Cheap; no model call.",
    input: z.object({}),
    effect: "read",
  },
  {
    name: "honcho_search",
    description:
      "Finds particular things the person said or that were concluded about them, as ranked excerpts. Cheap; no model call. Use it to look facts up and reason over them yourself.",
    input: z.object({ query, limit: z.number().int().min(1).max(20).optional().describe("Excerpts, 8 unless told.") }),
    effect: "read",
  },
  {
    name: "honcho_context",
    description: "Everything known about the person that bears on a topic: their card and what was concluded about them. No model call.",
    input: z.object({ query: query.optional() }),
    effect: "read",
  },
  {
    name: "honcho_reasoning",
    description:
      "Asks the memory service a question about the person and lets it think. Slow and dear: only when searching and context do not answer it.",
    input: z.object({ question: z.string().min(1).max(2000).describe("One question about the person.") }),
    effect: "read",
  },
  {
    name: "honcho_conclude",
    description:
      "Keeps one lasting conclusion about the person, as a declarative sentence, when they said something that will matter for months.",
    input: z.object({ content: z.string().min(1).max(2000).describe("The conclusion.") }),
    effect: "once",
  },
];
