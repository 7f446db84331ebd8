/**
 * What people read from the program itself, in English and Chinese. Pure; a parameter's value is put in as it is,
 * so a caller that shows a name or text from outside cleans it first.
 */
import { chinese } from "./chinese.js";
import { english } from "./english.js";

export type Language = "en" | "zh";
export type TextKey = keyof typeof english;

type Names<Text extends string> = Text extends `${string}{${infer Name}}${infer Rest}` ? Name | Names<Rest> : never;
/** The parameters that a text needs, by name. */
export type TextParams<Key extends TextKey> = { readonly [Name in Names<(typeof english)[Key]>]: string | number };
type Rest<Key extends TextKey> = keyof TextParams<Key> extends never ? [] : [params: TextParams<Key>];

const tables: Readonly<Record<Language, Readonly<Record<TextKey, string>>>> = { en: english, zh: chinese };

/** The text of `key` with its parameters filled in. Wrong keys and missing parameters do not compile. */
export function text<Key extends TextKey>(language: Language, key: Key, ...rest: Rest<Key>): string {
  const params: Readonly<Record<string, string | number>> = rest[0] ?? {};
  return tables[language][key].replace(/\{(\w+)\}/g, (whole, name: string) => String(params[name] ?? whole));
}

/** How a person writes a command on a platform: `commandForm` is the adapter's capability, for example `/{command}`. */
export function commandText(commandForm: string, command: string): string {
  return commandForm.replace("{command}", () => command);
}

/** The texts of one language, for tests and listings. */
export function textsOf(language: Language): Readonly<Record<TextKey, string>> {
  return tables[language];
}

/**
 * The language to answer in. `setting`: `ui.language`. With `auto` the first of `lastTexts` (newest first) that has letters decides:
 * Chinese when it has Han characters, no kana or hangul, and at least as many of them as words in Latin letters. Otherwise English.
 */
export function languageOf(setting: Language | "auto", lastTexts: readonly string[]): Language {
  if (setting !== "auto") return setting;
  for (const sample of lastTexts) {
    const plain = sample.replace(/https?:\/\/\S+|```[\s\S]*?```|`[^`]*`/g, " ");
    if (!/\p{L}/u.test(plain)) continue;
    if (/[\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Hangul}]/u.test(plain)) return "en";
    const han = plain.match(/\p{Script=Han}/gu)?.length ?? 0;
    const words = plain.match(/\p{Script=Latin}+/gu)?.length ?? 0;
    return han > 0 && han >= words ? "zh" : "en";
  }
  return "en";
}
