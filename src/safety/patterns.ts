/**
 * What the scan refuses, as patterns per reason: English sentences here, commands and Chinese in their own files.
 * A sentence pattern runs on the word form (one space between words, " . " at sentence ends), never on raw text.
 */

/** Stable ids: they are shown to the model and stored in the log, so they are never renamed. */
export type ScanReason =
  /** Tells the agent to drop its instructions. */
  | "instruction-override"
  /** Gives the agent another identity or mode. */
  | "role-hijack"
  /** Tells the agent to hide things from, or lie to, the person it works for. */
  | "deception"
  /** Poses as system text, or changes the agent's rules from inside data. */
  | "concealed-rule"
  /** Sends secrets or conversations out. */
  | "exfiltration"
  /** Reads files that hold credentials. */
  | "credential-read"
  /** Opens a way in: SSH keys, root login, tunnels, remote shells. */
  | "ssh-backdoor"
  /** Makes a command run again by itself: cron, shell start files, services. */
  | "persistence"
  /** Characters that hide or reorder text. */
  | "invisible-unicode"
  /** Holds a key, token or password itself. */
  | "secret"
  /** A plain order to the agent for all later turns; refused in memory only. */
  | "standing-order";

export interface Pattern {
  readonly reason: ScanReason;
  readonly on: "words" | "code" | "lines" | "squeezed";
  readonly match: RegExp;
}

export function pattern(reason: ScanReason, on: Pattern["on"], ...sources: readonly string[]): Pattern[] {
  return sources.map((source) => ({ reason, on, match: new RegExp(source, on === "lines" ? "mu" : "u") }));
}

/** At most `count` words in between, within one sentence. */
export function gap(count: number): string {
  return `(?: [^ .]+){0,${count}}? `;
}

const earlier = "(?:previous|previously|prior|earlier|above|preceding|foregoing|former|past|existing|original|initial)";
const owned = "(?:your|system|systems|developer|developers|safety|security|core|hidden|built in|builtin|default|openai|anthropic)";
const filler = `(?:the|these|those|this|that|of|its|my|our|any|all|every|each|other|and|or|given|such|${earlier}|${owned})`;
const rules =
  "(?:instructions?|prompts?|rules?|directives?|guidelines?|guidance|commands?|constraints?|restrictions?|polic(?:y|ies)|programming|training|directions|guardrails?|safeguards?|limitations)";
const drop =
  "(?:ignore|disregard|forget|override|overrule|bypass|discard|neglect|violate|circumvent|disobey|do not (?:follow|obey|heed|comply with)|dont (?:follow|obey|heed|comply with)|stop (?:following|obeying)|no longer (?:follow|obey)|pay no (?:attention|heed) to|set aside)";
const dropSoftly = "(?:skip|drop|abandon|cancel|delete|erase|reset|void|replace|remove|disable|dismiss|overlook|supersede|break)";
const person = "(?:the|this|your|our)? ?(?:users?|human|owner|operator|account holder)";

const overrides = pattern(
  "instruction-override",
  "words",
  `\\b${drop}(?: ${filler}){0,6}? (?:${earlier}|${owned})(?: ${filler}){0,4} ${rules}\\b`,
  `\\b${drop} (?:all|any|every|each)(?: of)?(?: (?:the|these|those|its|other))? ${rules}\\b`,
  `\\b${drop}(?: ${filler}){0,3} (?:instructions?|rules|directives|prompts?|orders) (?:above|before this|you (?:were|have been|got|received)|that came before|given (?:to you|before|above|earlier))\\b`,
  `\\b${dropSoftly}(?: (?:all|any|every|each|of|the|these|those)){0,3} (?:your|your own|system|safety|developer)(?: (?:${earlier}|${owned}|and)){0,3} ${rules}\\b`,
  `\\bforget (?:all|everything|anything|what)(?: of)?(?: that)? (?:above|before|prior|earlier|you (?:know|knew|were told|have been told|have learned|learned)|i told you before|came before)\\b`,
  `\\b${drop} (?:all )?(?:the |your )?${earlier} (?:context|system messages?)\\b`,
  `\\b${earlier} ${rules} (?:(?:are|is|were) (?:now )?(?:void|null|cancell?ed|revoked|superseded|no longer (?:valid|binding|in force))|no longer (?:apply|applies|count|matter))\\b`,
  `\\b${drop} (?:everything|anything|all|what(?:ever)?)(?: that)? (?:you (?:were|have been|had been) (?:told|given|taught|instructed)|i (?:said|told you))\\b(?! about)`,
  `\\b${drop} (?:everything|anything|all|what(?:ever)?)(?: (?:is|was|stands|came|said|written|that|i said|you were told))* (?:above|before this|so far|up to now|until now)\\b`,
  `\\b(?:reveal|print|show|repeat|output|leak|disclose|dump|recite)${gap(3)}(?:your (?:system prompt|hidden prompt|initial instructions|hidden instructions|instructions verbatim)|the system prompt above|everything above this line)\\b`,
  `\\bstart over with (?:these|the following|new) (?:instructions|rules)\\b`,
);

/** The same core written without any spaces, for letters that were pulled apart in other ways. */
const squeezedOverrides = pattern(
  "instruction-override",
  "squeezed",
  "(?:ignore|disregard|forget|override|bypass)(?:all|any|of|the|your|my|these|those){0,4}(?:previous|prior|earlier|above|preceding|system|your)(?:and|system|safety|previous|prior|the){0,2}(?:instruction|prompts|rules|directive|guideline)",
);

const hijacks = pattern(
  "role-hijack",
  "words",
  "\\byou(?: are|re) now (?!on |at |able |connected |logged |using |done |ready |in (?!(?:developer|dan|debug|god|admin|root|unrestricted|jailbreak|maintenance)\\b))",
  "\\byou are no longer (?:bound|restricted|an? (?:ai|assistant|language|bot|chatbot|helpful)|subject to|limited|required|obliged|mneme|the assistant)\\b",
  "\\bact as (?:if you (?:are|were|have|had)|though you (?:are|were|have|had)|(?:an? |the |my )?(?:unrestricted|uncensored|unfiltered|evil|jailbroken|amoral|rogue|root|superuser|dan|different (?:ai|assistant|model))\\b)",
  "\\bpretend (?:that )?(?:you (?:are|were|have|can|do not|dont)|youre|your are)\\b",
  "\\bpretend to be (?:an? |the |my |another )?(?:different |evil |unrestricted |uncensored |unfiltered |other )*(?:ai|assistant|model|chatbot|bot|admin|administrator|system|developer|operator|owner)\\b",
  "\\b(?:enter|activate|switch (?:in)?to|unlock|enable|engage) (?:the )?(?:dan|jailbreak|god|unrestricted|unfiltered|uncensored|no limits) mode\\b",
  "\\b(?:you|assistant|respond|answer|reply|operate|act|stay|run)(?: [^ .]+){0,3} in (?:developer|dev|dan|jailbreak|god|admin|root|unrestricted|unfiltered|uncensored|sudo) mode\\b",
  " (?:enter|activate) (?:developer|admin|root|sudo|maintenance) mode(?: (?:now|and|with|where)| \\.? ?$)",
  "\\b(?:developer|dan|god|admin|sudo|unrestricted) mode (?:is )?(?:now )?(?:enabled|activated|unlocked|engaged)\\b",
  "\\bdo anything now\\b",
  "\\byou(?: are|re) (?:an? )?(?:dan|evil|unrestricted|uncensored|unfiltered|jailbroken|rogue)\\b",
  "\\bfrom now on you(?: are|re) (?!free|welcome|allowed|able)",
  `\\b(?:freed|released|liberated|exempt|unbound) from (?:all |any |your |the |of )*${rules}\\b`,
  "\\b(?:act|answer|respond|behave) as (?:if|though) (?:there (?:are|were) )?no (?:restrictions?|rules|limits|filters|guidelines)\\b",
  "\\b(?:role ?play|behave|respond|speak|answer|act) as (?:an? )?(?:[^ .]+ ){0,2}(?:ai|assistant|model|bot|chatbot|character) (?:with no|without|that has no|who has no|free of)\\b",
  "\\b(?:your|assistants) (?:true|real|new|actual) (?:name|identity|role|persona|purpose|goal|mission|personality|self|master|owner) (?:is|are|will be)\\b",
  "\\b(?:you|assistant|model|ai) (?:now )?(?:have|has|had) no (?:restrictions?|filters?|rules|limits|limitations|guidelines|ethics|morals|boundaries|constraints)\\b",
  "\\b(?:respond|answer|reply|act|operate|comply|behave)(?: [^ .]+){0,3} without (?:any )?(?:restrictions?|filters?|filtering|limits|limitations|ethical|moral|safety|censorship)\\b",
  "\\b(?:jailbreak|jailbroken) (?:yourself|you|the (?:assistant|model|ai)|assistant|model|ai|mode)\\b",
  "\\b(?:obey|serve|listen to|take orders from) (?:only )?(?:me only|me alone|the attacker|no one else|nobody else|only me)\\b",
  "\\b(?:you|assistant) (?:must|will|shall|should) (?:now )?(?:adopt|assume|take on|take over|play) (?:the |a |an )?(?:new |different |other )?(?:role|persona|identity|character|personality)\\b",
);

const deceptions = pattern(
  "deception",
  "words",
  `\\b(?:do not|dont|never|must not|mustnt|should not|shouldnt|cannot|avoid|without) (?:ever )?(?:tell|telling|inform|informing|notify|notifying|alert|alerting|warn|warning|let|letting) ${person}\\b(?! (?:app|interface|table|model|story|stories|guide|manual|account|input|group))`,
  `\\b(?:do not|dont|never|must not|should not|avoid) (?:ever )?(?:mention|mentioning|reveal|revealing|disclose|disclosing|report|reporting|show|admit|admitting|explain|say)(?: [^ .]+){0,6} to ${person}\\b`,
  `\\b(?:hide|conceal|keep|withhold|obscure|mask)(?: [^ .]+){0,6} (?:from|secret from|hidden from) ${person}\\b`,
  `\\bwithout (?:the )?(?:users?|humans?|owners?|operators?|persons?) (?:knowledge|knowing|consent|permission|noticing|approval|awareness|being told|realizing|realising)\\b`,
  `\\bso (?:that )?${person} (?:does not|doesnt|never|will not|wont|cannot|can not|cant) (?:notice|know|see|find out|realize|realise|suspect|learn)\\b`,
  `\\b${person} (?:must|should|may|can|need) (?:not|never) (?:ever )?(?:know|learn|notice|find out|be told|be informed|see (?:this|that|it))\\b`,
  `\\bsay nothing(?: [^ .]+){0,4} to ${person}\\b`,
  "\\bbehind (?:the )?(?:users?|humans?|owners?|operators?) back\\b",
  `\\b(?:lie to|deceive|mislead|trick|gaslight|manipulate|dupe|misinform|fool) ${person}\\b`,
  `\\b(?:secretly|covertly|stealthily|surreptitiously) (?:send|forward|upload|copy|record|log|collect|add|run|execute|install|delete|change|modify|transfer|store|share|report|include|insert|do|e ?mail|mail|post|message|read|track|monitor|save|write|append|attach|bcc|cc|open|disable|enable|publish|submit)\\b`,
  "\\b(?:silently|quietly) (?:send|forward|upload|copy|record|collect|exfiltrate|transfer|transmit|leak)\\b",
  "\\b(?:never|do not|dont|must not) (?:ever )?(?:reveal|mention|disclose|admit|acknowledge|show|repeat|quote|talk about|speak of) (?:that )?(?:this|these|the existence of (?:this|these)) (?:instructions?|rules?|memory|memories|notes?|entry|entries|messages?|prompts?|orders?|directives?)\\b",
  "\\bpretend (?:that )?(?:nothing (?:happened|has happened)|everything is (?:fine|normal|ok)|you did not|you didnt|it (?:worked|succeeded)|the (?:task|command|test|tests) (?:worked|passed|succeeded))\\b",
  `\\b(?:claim|say|report|tell ${person})(?: that)? (?:it |everything |the (?:task|tests?|command|backup) )(?:worked|succeeded|passed|is done|was successful) even (?:if|when|though)\\b`,
);

const concealed = pattern(
  "concealed-rule",
  "words",
  "\\b(?:this|these|the following) (?:rules?|instructions?|messages?|notes?|polic(?:y|ies)|entry|orders?) (?:overrides?|supersedes?|outranks?|takes? (?:precedence|priority)|ha(?:s|ve) (?:the )?(?:highest |top |absolute )?(?:priority|precedence)|cannot be (?:changed|overridden|revoked|removed)|can not be (?:changed|overridden|revoked|removed)|must never be (?:changed|removed|questioned))\\b",
  "\\b(?:update|change|modify|rewrite|replace|amend|alter|edit|extend)(?: [^ .]+){0,2} your (?:own )?(?:(?:core|system|safety|internal|security) )?(?:rules|guidelines|instructions|system prompt|prompt|polic(?:y|ies)|directives|programming)\\b",
  "\\b(?:add|append|insert|write|save)(?: [^ .]+){0,6} (?:in|into|to) your (?:system prompt|core rules|rules|guidelines|instructions)\\b",
  "\\b(?:treat|consider|regard|accept|interpret) (?:this|the following|these|it|what follows)(?: [^ .]+){0,3} as (?:an? |the |your )?(?:new )?(?:system|highest|top|official|binding|authoritative|trusted) (?:message|prompt|instructions?|rules?|priority|authority|command|order)s?\\b",
  "\\b(?:the )?(?:admin|administrator|developers?|operator|openai|anthropic|system|security team)(?: [^ .]+){0,2} (?:has |have )?(?:authori[sz]ed|approved|granted|permitted|instructed|ordered|cleared) you\\b",
  "\\byour new (?:rules?|instructions?|directives?|orders?|guidelines|polic(?:y|ies)) (?:is|are|say|says|read|reads|follow|follows)\\b",
  "\\bfollow (?:only )?(?:these|the following|my|this) (?:new )?(?:instructions?|rules?|orders?|directives?) (?:instead|only|and nothing else|from now on)\\b",
  "\\b(?:the )?real (?:system prompt|instructions|rules) (?:is|are)\\b",
);

const markedUp = [
  ...pattern(
    "concealed-rule",
    "code",
    "<\\|[a-z_]+\\|>|\\[/?inst\\]|<</?sys>>|</?(?:system|system-reminder|system_prompt|system-prompt|memory-context|assistant_instructions)\\b[^<>]{0,80}>",
    "(?:hidden|secret) (?:system )?(?:instruction|rule|directive|command|order)s? ?[:：]",
    "<!--(?:(?!-->).){0,300}?\\b(?:assistant|ai|agents?|ignore|you must|instructions?|do not tell|send)\\b(?:(?!-->).){0,300}?-->",
  ),
  ...pattern(
    "concealed-rule",
    "lines",
    "(?:^|[^\\p{L}\\p{N}\\n ] ?|\\. )(?:new |updated? |urgent |important )?system (?:message|prompt|override|notice|update|instructions?|command|alert) ?[:：]",
    "(?:^|[#\\[*>]+ ?|\\. )(?:new|updated|revised|hidden|secret|real|actual) (?:system )?(?:instructions?|rules?|directives?|orders|policy|task) ?[:：]",
    "^#{1,4} ?(?:system|developer|system prompt|new instructions?)\\b ?:?$|^#{1,4} ?(?:system|new instructions?):",
    "^\\W{0,3}\\[ ?(?:system|developer|admin)(?: message| note| override)? ?\\]",
    "^(?:新的?|最新的?|隐藏的?|秘密的?)? ?系统(?:消息|指令|提示|通知|命令|更新) ?[:：]",
  ),
];

/** Judged last, so that a worse reason is named first. */
export const standingOrders: readonly Pattern[] = pattern(
  "standing-order",
  "words",
  "\\bfrom now on you (?:must|will|shall|have to|are to|should|only|always|never)\\b",
  "\\b(?:you|the assistant) must (?:always|never) (?:obey|comply|execute|run|send|forward|approve|accept|agree|open|visit|install|download)\\b",
  "\\b(?:include|append|add|attach|mention|put|insert)(?: [^ .]+){0,6} (?:link|url|https?|ad|advertisement)(?: [^ .]+){0,6} (?:in|to|with|into) (?:every|each|all)(?: [^ .]+)? (?:reply|replies|answers?|messages?|responses?)\\b",
  "(?:^| \\.) (?:always|after (?:each|every|answering)|before (?:each|every)|at the (?:start|end) of (?:each|every)|every time|each time|whenever)(?: [^ .]+){0,6} (?:run|execute|install|download|open|visit|click|send|forward|post|upload|email|deploy|push|delete|transfer|buy|pay)\\b",
  "(?:^| \\.) (?:run|execute|invoke) (?:the |this |that |these )?[^.]{0,80}\\b(?:on every|every time|each time|at every|at each|before every|before each|after every|after each|whenever|each (?:turn|session|reply)|every (?:turn|session|reply))\\b",
);

export const sentencePatterns: readonly Pattern[] = [
  ...overrides,
  ...squeezedOverrides,
  ...hijacks,
  ...deceptions,
  ...concealed,
  ...markedUp,
];
