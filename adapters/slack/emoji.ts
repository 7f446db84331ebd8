/** Emoji characters to Slack's names for reactions: Slack takes names only, without colons. */

const names: Readonly<Record<string, string>> = {
  "👀": "eyes",
  "✅": "white_check_mark",
  "👍": "+1",
  "👎": "-1",
  "👌": "ok_hand",
  "⏳": "hourglass_flowing_sand",
  "⌛": "hourglass",
  "❌": "x",
  "⚠": "warning",
  "🤔": "thinking_face",
  "🎉": "tada",
  "✍": "writing_hand",
  "🔥": "fire",
  "❤": "heart",
  "🙏": "pray",
  "⏹": "black_square_for_stop",
  "⏸": "double_vertical_bar",
  "📝": "memo",
  "🧠": "brain",
  "💤": "zzz",
  "👋": "wave",
  "🕐": "clock1",
  "🔁": "repeat",
  "📥": "inbox_tray",
  "➕": "heavy_plus_sign",
  "💬": "speech_balloon",
  "🫡": "saluting_face",
  "😴": "sleeping",
  "🤝": "handshake",
  "⚡": "zap",
  "🚫": "no_entry_sign",
  "🛑": "octagonal_sign",
  "🆗": "ok",
  "👂": "ear",
  "✨": "sparkles",
  "💯": "100",
};

/** Slack's name of an emoji; a name already (with or without colons) stays. Undefined when it has none here. */
export function emojiName(emoji: string): string | undefined {
  const bare = emoji.replace(/\uFE0F/g, "");
  const known = names[bare];
  if (known !== undefined) return known;
  const name = bare.replace(/^:(.*):$/, "$1");
  return /^[a-z0-9_+'-]+$/.test(name) ? name : undefined;
}
