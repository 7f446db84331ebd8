/**
 * Words that say how a question is put and not what it is about. Only broad searches and the stretch index leave them out: in an
 * exact search every word counts.
 */

const english = `a about above after again all also am an and any are as at back be because been before being below between both but by came can cannot
could d did didn do does doesn doing don down during each ever every few for from further get gets getting gave give go goes going gone got had hadn has
hasn have haven having he her here hers herself him himself his how i if in into is isn it its itself just know let like ll m made make many may me might mine more most
much must my myself no nor not now of off on once one only or other our ours ourselves out over own re really remember remind s said same say saying shall she should
shouldn so some someone something such t take talk talked talking tell than that the their theirs them themselves then there these they thing things this those through to
told too under until up upon us use used very wasn was we were weren what when where whether which while who whom whose why will with won would wouldn ve
yet you your yours yourself yourselves mention mentioned mentions discuss discussed discussing conversation`;

const englishWords: ReadonlySet<string> = new Set(english.split(/\s+/u));

/** `word` in lower case. */
export function isStopWord(word: string): boolean {
  return englishWords.has(word);
}

/** Longest first, so that a longer one is taken out whole. Simplified and traditional forms; Japanese and Korean question forms. */
const chinese = [
  "有没有",
  "有沒有",
  "是什么",
  "是什麼",
  "为什么",
  "為什麼",
  "怎么样",
  "怎麼樣",
  "什么时候",
  "什麼時候",
  "哪一个",
  "哪一個",
  "能不能",
  "可不可以",
  "是不是",
  "上一次",
  "上次",
  "之前",
  "以前",
  "曾经",
  "曾經",
  "刚才",
  "剛才",
  "昨天",
  "那次",
  "这次",
  "這次",
  "哪个",
  "哪個",
  "哪些",
  "哪里",
  "哪裡",
  "哪儿",
  "那个",
  "那個",
  "这个",
  "這個",
  "那些",
  "这些",
  "這些",
  "什么",
  "什麼",
  "怎么",
  "怎麼",
  "怎样",
  "怎樣",
  "如何",
  "多少",
  "几个",
  "幾個",
  "我们",
  "我們",
  "你们",
  "你們",
  "他们",
  "他們",
  "她们",
  "她們",
  "它们",
  "它們",
  "大家",
  "自己",
  "说过",
  "說過",
  "提到",
  "提过",
  "提過",
  "讨论过",
  "討論過",
  "聊过",
  "聊過",
  "谈到",
  "談到",
  "告诉",
  "告訴",
  "记得",
  "記得",
  "还记得",
  "還記得",
  "可以",
  "请问",
  "請問",
  "一下",
  "一个",
  "一個",
  "关于",
  "關於",
  "是谁",
  "是誰",
  "因为",
  "因為",
  "所以",
  "但是",
  "然后",
  "然後",
  "已经",
  "已經",
  "时候",
  "時候",
  "について",
  "ですか",
  "ますか",
  "でしたか",
  "ましたか",
  "ました",
  "でした",
  "ください",
  "どうやって",
  "どうして",
  "なんですか",
  "という",
  "いつ",
  "どこ",
  "なに",
  "だれ",
  "무엇을",
  "무엇",
  "언제",
  "어디서",
  "어디",
  "어떻게",
  "누가",
  "왜",
  "우리가",
  "우리",
];
const chineseSingle = "的了吗嗎呢吧啊呀么麼我你您他她它是在和与與跟就都也很把被给給对對让讓又还還再说說";

const chinesePattern = new RegExp(`${chinese.toSorted((a, b) => b.length - a.length).join("|")}|[${chineseSingle}]`, "gu");

/** The pieces of a run of Chinese, Japanese or Korean that are left when question and function words are taken out. */
export function contentPieces(run: string): string[] {
  return run.split(chinesePattern).filter((piece) => piece !== "");
}
