/**
 * Table rows to aligned text for a code block, and the display width of text.
 * East-Asian wide characters and emoji count two columns, as monospaced fonts draw them; string length would misalign them.
 */

export type Alignment = "left" | "center" | "right";

/** Cells wider than this are not padded to: one long cell would otherwise blow up every row. */
const maxPadding = 40;

const graphemes = new Intl.Segmenter(undefined, { granularity: "grapheme" });

const wide =
  /[\u1100-\u115f\u2329\u232a\u2e80-\u303e\u3041-\u33ff\u3400-\u4dbf\u4e00-\u9fff\ua000-\ua4cf\ua960-\ua97f\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe6f\uff00-\uff60\uffe0-\uffe6\u{16fe0}-\u{18aff}\u{1b000}-\u{1b2ff}\u{1f200}-\u{1f265}\u{20000}-\u{3fffd}]|\p{Emoji_Presentation}|\p{Emoji}\ufe0f/u;

/** Columns the text takes in a monospaced font: 2 for each wide grapheme, 0 for one without ink, else 1. */
export function displayWidth(text: string): number {
  if (/^[\u0020-\u007e]*$/.test(text)) return text.length;
  let width = 0;
  for (const { segment } of graphemes.segment(text)) {
    if (wide.test(segment)) width += 2;
    else if (!/^[\p{Cf}\p{Cc}\p{M}]+$/u.test(segment)) width += 1;
  }
  return width;
}

/** Rows of cells (the first is the head) as aligned lines with a rule below the head. Cells are single lines. */
export function tableText(rows: readonly (readonly string[])[], aligns: readonly Alignment[]): string {
  const widths = aligns.map((_, column) =>
    Math.min(
      maxPadding,
      rows.reduce((most, row) => Math.max(most, displayWidth(row[column] ?? "")), 1),
    ),
  );
  const lines = rows.map((row) =>
    widths
      .map((width, column) => pad(row[column] ?? "", width, aligns[column] ?? "left"))
      .join(" | ")
      .trimEnd(),
  );
  lines.splice(1, 0, widths.map((width) => "-".repeat(width)).join("-|-"));
  return lines.join("\n");
}

function pad(cell: string, width: number, align: Alignment): string {
  const room = Math.max(0, width - displayWidth(cell));
  const left = align === "right" ? room : align === "center" ? Math.floor(room / 2) : 0;
  return " ".repeat(left) + cell + " ".repeat(room - left);
}
