import { describe, expect, it } from "vitest";
import { commandText, languageOf, text, textsOf, type TextKey } from "../../../src/words/catalogue.js";
import { peopleChinese } from "../../../src/words/people-chinese.js";
import { peopleEnglish } from "../../../src/words/people-english.js";

const placeholders = (line: string) => [...line.matchAll(/\{(\w+)\}/g)].map(([, name]) => name).sort();

describe("the message catalogue", () => {
  it("has every message in both languages", () => {
    expect(Object.keys(textsOf("zh"))).toEqual(Object.keys(textsOf("en")));
    expect(Object.values(textsOf("zh")).filter((line) => line.trim() === "")).toEqual([]);
  });

  it("holds no key twice: one would silently hide the other", () => {
    expect(textsOf("en")).toMatchObject(peopleEnglish);
    expect(textsOf("zh")).toMatchObject(peopleChinese);
  });

  it("uses the same parameters in both languages", () => {
    for (const key of Object.keys(textsOf("en")) as TextKey[]) {
      expect(placeholders(textsOf("zh")[key]), key).toEqual(placeholders(textsOf("en")[key]));
    }
  });

  it("is really Chinese in Chinese", () => {
    const same = (Object.keys(textsOf("en")) as TextKey[]).filter((key) => textsOf("en")[key] === textsOf("zh")[key]);

    expect(same).toEqual(["notice.saved", "progress.thinking"]);
  });

  it("fills parameters in as they are, also ones that look like patterns", () => {
    expect(text("en", "command.unknown", { command: "/$&", help: "{command}" })).toBe(
      "I do not know the command /$&. {command} shows all of them.",
    );
    expect(text("zh", "stop.nothing")).toBe("没有可以停止的内容。");
    expect(text("en", "stop.done-many", { count: 3 })).toContain("3 waiting messages");
  });

  it("tells a person what to do with every error", () => {
    const errors = (Object.keys(textsOf("en")) as TextKey[]).filter((key) =>
      /^turn\.(model|timeout|too|failed|gave)|^queue|^file/.test(key),
    );

    expect(errors.length).toBeGreaterThan(10);
    for (const key of errors) expect(textsOf("en")[key], key).toMatch(/[.;] ?\S+ .*\S/);
  });

  it("writes a command as its platform does", () => {
    expect(commandText("/{command}", "again")).toBe("/again");
  });
});

describe("the language of notices", () => {
  it.each([
    ["en", ["你好"], "en"],
    ["zh", ["hello"], "zh"],
    ["auto", [], "en"],
    ["auto", ["你好，请帮我"], "zh"],
    ["auto", ["请用 git rebase 整理提交"], "zh"],
    ["auto", ["what does 你好 mean in English?"], "en"],
    ["auto", ["東京に行きたい"], "en"],
    ["auto", ["👍 123", "谢谢"], "zh"],
    ["auto", ["thanks", "谢谢"], "en"],
    ["auto", ["看 https://example.org/some/long/path/with/words"], "zh"],
  ] as const)("with %s and %j is %s", (setting, texts, expected) => {
    expect(languageOf(setting, texts)).toBe(expected);
  });
});
