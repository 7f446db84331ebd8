import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { broadTerms, broadText, exactTerm, exactText, shownWords } from "../../../src/domain/search-terms.js";

const squeezed = (text: string): string => text.replaceAll(/\s+/gu, " ").trim();

describe("the text that goes into the exact index", () => {
  it("cuts Chinese into bigrams and its last character, and leaves other words alone", () => {
    expect(squeezed(exactText("在北京大学, near Peking"))).toBe("在北 北京 京大 大学 学 , near Peking");
  });

  it("treats half-width kana, Hangul and characters beyond the first plane alike", () => {
    expect(squeezed(exactText("ｶﾞﾝ"))).toBe("ガン ン");
    expect(squeezed(exactText("한국어"))).toBe("한국 국어 어");
    expect(squeezed(exactText("𠀀𠀁𠀂"))).toBe("𠀀𠀁 𠀁𠀂 𠀂");
  });

  it("ends a run at other letters, so that no phrase crosses from one script to the other", () => {
    expect(squeezed(exactText("用GPT模型"))).toBe("用 GPT 模型 型");
  });

  it("holds nothing that would cut the text short in the database", () => {
    expect(exactText("a\0b\ud800c")).toBe("a b c");
  });
});

describe("a term of a search", () => {
  it("is always quoted", () => {
    fc.assert(
      fc.property(fc.string({ unit: "binary" }), fc.boolean(), (text, isPrefix) => {
        const term = exactTerm(text, isPrefix);
        expect(term === undefined || /^"[^"\0]*"(?: \*)?$/u.test(term)).toBe(true);
      }),
    );
  });

  it("finds a single character as the beginning of a bigram", () => {
    expect(exactTerm("京")).toBe('" 京" *');
    expect(exactTerm("北京")).toBe('" 北京"');
  });

  it("is nothing where there is nothing to search for", () => {
    expect(exactTerm("++ 🎉")).toBeUndefined();
  });
});

describe("the terms of a broad search", () => {
  it("leave out the words that only put the question", () => {
    expect(broadTerms("What did we decide about the migration?")).toEqual({ terms: ['"decide"', '"migration"'], hadStopWords: true });
  });

  it("are the bigrams of what a Chinese question is about", () => {
    expect(broadTerms("我上次说的那个数据库方案是什么").terms).toEqual(['"数据"', '"据库"', '"库方"', '"方案"']);
  });

  it("keep a word once in the stretch index and count every occurrence", () => {
    expect(broadText("Rain and rain again, 下雨")).toEqual({ text: "rain 下雨", words: 3 });
  });

  it("are all words where nothing but stop words was written", () => {
    expect(shownWords("who was it")).toEqual(["who", "was", "it"]);
  });
});
