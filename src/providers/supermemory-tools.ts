/** The tools of Supermemory as the model is told of them. */
import { z } from "zod";
import type { ProviderTool } from "../ports/memory-provider.js";

export const supermemoryTools: readonly ProviderTool[] = [
  {
    name: "supermemory_store",
    description:
      "Stores one thing in the long-term memory service on purpose, as a declarative sentence. Conversations are stored without it.",
    input: z.object({ content: z.string().min(1).max(8000).describe("What to store.") }),
    effect: "once",
  },
  {
    name: "supermemory_search",
    description: "Searches the long-term memory service by meaning, over everything stored for this place.",
    input: z.object({
      query: z.string().min(1).max(2000).describe("What to look for, in plain words."),
      limit: z.number().int().min(1).max(20).optional().describe("Results, 8 unless told."),
    }),
    effect: "read",
  },
  {
    name: "supermemory_forget",
    description:
      "Deletes one thing from the long-term memory service. With id: exactly that. With query: deletes nothing yet, but shows the best match with its id; show it to the person, and call again with the id only after their yes.",
    input: z.object({
      id: z.string().min(1).max(200).optional().describe("Id from a search or an earlier forget."),
      query: z.string().min(1).max(2000).optional().describe("What should be forgotten, where the id is not known."),
    }),
    effect: "once",
  },
  {
    name: "supermemory_profile",
    description: "What the long-term memory service knows: standing facts, and recent context.",
    input: z.object({}),
    effect: "read",
  },
];
