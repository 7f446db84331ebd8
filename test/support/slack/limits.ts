/**
 * Slack's limits on a message, checked as the real service does it: a wrong block or a text that is too long is refused
 * with the service's own error code.
 * Sources: docs.slack.dev (blocks, chat.postMessage, chat.update) and slackapi/bolt-js#2509 for the total of about 13,000.
 */

const blockTypes: Readonly<Record<string, (block: Record<string, unknown>) => boolean>> = {
  markdown: (block) => isText(block["text"], 12_000),
  section: (block) => textObject(block["text"], 3_000) && noExtra(block, ["type", "text", "block_id", "accessory", "fields", "expand"]),
  header: (block) => textObject(block["text"], 150, ["plain_text"]),
  divider: () => true,
  context: (block) => {
    const elements = block["elements"];
    return Array.isArray(elements) && elements.length >= 1 && elements.length <= 10;
  },
  actions: (block) => {
    const elements = block["elements"];
    return Array.isArray(elements) && elements.length >= 1 && elements.length <= 25 && elements.every((item) => isButton(item));
  },
  rich_text: (block) => Array.isArray(block["elements"]),
};

function isText(value: unknown, max: number): boolean {
  return typeof value === "string" && value.length >= 1 && value.length <= max;
}

function record(value: unknown): Record<string, unknown> | undefined {
  return typeof value === "object" && value !== null && !Array.isArray(value) ? (value as Record<string, unknown>) : undefined;
}

function textObject(value: unknown, max: number, types: readonly string[] = ["plain_text", "mrkdwn"]): boolean {
  const object = record(value);
  return object !== undefined && types.includes(String(object["type"])) && isText(object["text"], max);
}

function noExtra(block: Record<string, unknown>, known: readonly string[]): boolean {
  return Object.keys(block).every((key) => known.includes(key));
}

function isButton(value: unknown): boolean {
  const button = record(value);
  if (button === undefined || button["type"] !== "button") return false;
  return (
    textObject(button["text"], 75, ["plain_text"]) &&
    isText(button["action_id"], 255) &&
    (button["value"] === undefined || isText(button["value"], 2_000))
  );
}

/** The error code for these blocks, or undefined when Slack takes them. */
export function blocksError(blocks: unknown): string | undefined {
  if (!Array.isArray(blocks)) return "invalid_blocks_format";
  if (blocks.length > 50) return "invalid_blocks";
  let markdown = 0;
  let total = 0;
  const actionIds = new Set<string>();
  for (const value of blocks) {
    const block = record(value);
    const check = block === undefined ? undefined : blockTypes[String(block["type"])];
    if (block === undefined || check === undefined || !check(block)) return "invalid_blocks";
    const text = block["text"];
    const length = typeof text === "string" ? text.length : String(record(text)?.["text"] ?? "").length;
    total += length;
    if (block["type"] === "markdown") markdown += length;
    for (const item of Array.isArray(block["elements"]) ? block["elements"] : []) {
      const id = record(item)?.["action_id"];
      if (typeof id !== "string") continue;
      if (actionIds.has(id)) return "invalid_blocks";
      actionIds.add(id);
    }
  }
  if (total > 13_000) return "msg_blocks_too_long";
  if (markdown > 12_000) return "msg_blocks_too_long";
  return undefined;
}

/** What a `text` would ping, in Slack's reading: `<!here>`, `<@U…>`, `<!subteam^…>`. */
export function pingsIn(text: string): string[] {
  return [...text.matchAll(/<(![a-z]+|@[UW][A-Z0-9]+|!subteam\^[A-Z0-9]+)(?:\|[^>]*)?>/g)].map((match) => match[1] ?? "");
}
