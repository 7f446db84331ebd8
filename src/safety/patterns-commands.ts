/**
 * Commands and orders that leak secrets, read credential files, open a way in or make themselves run again.
 * Naming a tool or a file is harmless ("uses cron for backups"); only the act is refused.
 */
import { gap, pattern, type Pattern } from "./patterns.js";

const client =
  "(?:curl|wget|fetch|httpie|http|nc|ncat|netcat|socat|scp|sftp|rsync|ftp|telnet|invoke-webrequest|invoke-restmethod|iwr|irm|axios|requests\\.(?:post|get|put)|urllib\\S{0,80}|xmlhttprequest|sendbeacon|dig|nslookup)";
const secretWord = "(?:key|token|secret|passw|pwd|credential|cred|auth|cookie|session)";
const secretVariable = `(?:\\$\\{?\\(?(?:env:)?\\w*${secretWord}\\w*|%\\w*${secretWord}\\w*%|process\\.env\\b|localstorage|sessionstorage|document\\.cookie|os\\.environ|os\\.getenv|getenv\\(|\\$env:|printenv|\\$\\((?:env|cat|printenv|<)|\`(?:env|cat|printenv)\\b)`;
const home = "(?:~|\\$home|\\$\\{home\\}|/root|/home/[^/ ]+|/users/[^/ ]+|%userprofile%|\\$env:userprofile)?[/\\\\]?";
/** Files that hold credentials, without public keys and samples. */
const strongFile = `(?:${home}\\.ssh[/\\\\](?:id_\\w+|identity|\\*)(?!\\w*\\.pub)|\\bid_(?:rsa|ed25519|ecdsa|dsa)\\b(?!\\.pub)|\\.aws[/\\\\]credentials|\\.netrc\\b|\\.pgpass\\b|\\.git-credentials|\\.docker[/\\\\]config\\.json|\\.kube[/\\\\]config|/etc/shadow|/etc/sudoers|/proc/self/environ|\\.gnupg\\b|wallet\\.dat|application_default_credentials\\.json|\\.config[/\\\\]gh[/\\\\]hosts\\.yml|login data)`;
const envFile = "(?<![\\w$])\\.env(?:\\.(?!example|sample|template|dist|test|defaults)\\w+)?(?![\\w.])";
const weakFile = `(?:${envFile}|\\.npmrc\\b|\\.pypirc\\b|/etc/passwd|\\.(?:bash|zsh|psql|mysql|python)_history\\b|\\bcredentials\\.(?:json|ya?ml|csv)|\\bsecrets?\\.(?:json|ya?ml|toml|env)|\\bservice-account\\S{0,80}\\.json)`;
const secretFile = `(?:${strongFile}|${weakFile})`;
const reader =
  "(?:cat|less|head|tail|bat|strings|xxd|od|hexdump|base64|type|get-content|gc|scp|cp|rsync|tar [a-z-]+|zip|nano|vim|awk \\S{1,120}|sed \\S{1,120}|grep(?: -\\w+)* \\S{1,120})";
const notDenied = "(?<!\\b(?:never|not|dont|don't|nobody|no one|nor) )";
const leak = `${notDenied}\\b(?:send|forward|upload|post|e-?mail|leak|exfiltrate|transmit|share|submit|mail|copy|report|deliver|append|attach|paste|dm)\\b`;
const address =
  "(?:https?|www\\.|\\S{1,120}@\\S{1,120}\\.\\w|webhook|\\bserver\\b|endpoint|\\burl\\b|external|attacker|pastebin|\\bchannel\\b|\\bgist\\b|\\S{1,120}\\.(?:com|net|org|io|ru|cn|xyz|dev|app|site|top|me)\\b)";
const precious =
  "(?:api ?keys?|access keys?|access tokens?|tokens?|passwords?|passphrases?|credentials?|secrets?|private keys?|seed phrases?|recovery codes?|env(?:ironment)? variables?|session cookies?|cookies|system prompt|2fa codes?|one time codes?)";
const personal =
  "(?:conversations?|chat (?:history|histories|logs?)|transcripts?|(?:users?|owners?|persons?) (?:data|messages?|files?|details|memory|memories)|all (?:messages|files|memories)|memory (?:file|entries)|user\\.md|memory\\.md)";

const exfiltration = [
  ...pattern("exfiltration", "lines", `(?<![\\w-])${client}(?![\\w-])[^\\n]{0,240}?${weakFile}`),
  ...pattern(
    "exfiltration",
    "code",
    `(?<![\\w-])${client}(?![\\w-])[^\\n]{0,240}?(?:${secretVariable}|(?!\\.netrc\\b)${strongFile})`,
    `(?:${secretFile}|\\bprintenv\\b|\\benv)[^|;\\n]{0,80}\\|[^;\\n]{0,80}?\\b${client}\\b`,
    `\\b(?:curl|wget)\\b[^\\n]{0,200}?(?:-d ?@|--data(?:-binary|-raw|-urlencode)?[ =]"?'?@|-f \\S{0,80}=@|--form[ =]\\S{0,80}=@|--post-file|--upload-file|--body-file| -t \\S{0,80}(?:/|\\.)\\S{0,80})`,
    `!\\[[^\\]]*\\]\\(https?://[^)]*(?:\\{|\\$|<|\\[)[^)]*\\)`,
    `${leak}.{0,50}?\\b(?:${precious}|keys?)\\b.{0,50}?\\b(?:to|at|via|through|with|into|on)\\b.{0,30}?${address}`,
    `${leak}.{0,50}?\\b${personal}\\b.{0,50}?\\b(?:to|at|via|through|with|into|on)\\b.{0,30}?(?:https?|www\\.|\\S{1,120}@\\S{1,120}\\.\\w|webhook|external|attacker|pastebin|endpoint|\\S{1,120}\\.(?:com|net|org|io|ru|cn|xyz|site|top)\\b)`,
    `${leak}.{0,40}?${secretFile}.{0,40}?\\b(?:to|at|via|with|into|on)\\b`,
  ),
  ...pattern(
    "exfiltration",
    "words",
    `\\b(?:always|every time|each time|after (?:each|every|answering)|whenever|from now on|remember to)${gap(8)}(?:send|forward|upload|post|email|leak|transmit|share|include|append)${gap(4)}(?:keys?|${precious})\\b`,
    `\\b(?:append|encode|embed|include|put|hide|add|smuggle)${gap(6)}(?:conversations?|chat history|api keys?|passwords?|secrets?|tokens?|users? (?:data|messages?))${gap(5)}(?:in|into|to|as|inside)${gap(4)}(?:images?|urls?|links?|query|pixel|hyperlink)\\b`,
    `\\b(?:exfiltrate|leak)${gap(4)}(?:${precious}|keys?|${personal}|data|files)\\b`,
  ),
];

const credentialReads = pattern(
  "credential-read",
  "code",
  `(?<![\\w-])${reader}(?: -[\\w-]+(?: \\d+)?)*(?: "?'?\\S{0,80}[^\\s.\\w])? ?"?'?(?:\\./)?${secretFile}`,
  `(?:readfile(?:sync)?|read_text|open|file_get_contents|slurp|load_file|fs\\.read\\w*)\\(? ?["'\`(]+[^"'\`)]*${secretFile}`,
  `${notDenied}\\b(?:read|open|print|show|display|dump|output|reveal|paste|extract|copy|fetch|view|look at|get|grab|steal|collect|send|upload|post|share|quote)\\b(?:(?!\\. |;).){0,40}?${strongFile}`,
  `${notDenied}\\b(?:print|dump|output|reveal|paste|extract|grab|steal|collect|send|upload|post|quote|show|read out|display)\\b(?:(?!\\.(?: |$)|;).){0,40}?${weakFile}`,
  `(?:read|open|print|show|dump)\\b.{0,20}\\bcontents? of\\b.{0,20}${secretFile}`,
  `\\b(?:tar|zip|7z|scp -r|cp -[ar]+)\\b(?![^\\n]{0,120}exclude)[^|;\\n]{0,80}(?:~|\\$home|/root|/home/\\w+|/)/?\\.(?:ssh|aws|gnupg|kube)\\b`,
  `\\b(?:security find-(?:generic|internet)-password|cmdkey /list|mimikatz|lsadump|hashdump|secretsdump|gpg --export-secret-keys)\\b`,
);

const backDoors = [
  ...pattern(
    "ssh-backdoor",
    "code",
    "(?:>>?|\\btee(?: -a)?) ?\\S{0,80}authorized_keys",
    `${notDenied}\\b(?:add|append|install|put|write|insert|copy|place|paste|echo|inject)\\b(?:(?!\\. ).){0,400}?authorized_keys`,
    `${notDenied}\\b(?:add|append|install|authori[sz]e|trust|put|write|insert|copy|accept)\\b(?:(?!\\. ).){0,100}?(?:ssh-(?:rsa|ed25519|dss)|ecdsa-sha2-\\w+) aaaa`,
    "ssh-(?:rsa|ed25519|dss) aaaa\\S{20,}.{0,80}authorized_keys",
    "\\bssh-copy-id (?:-\\S{1,120} )*\\S{0,80}[@/]\\S{1,120}",
    "\\bpermitrootlogin[ =]+[\"']?yes|\\bpermitemptypasswords[ =]+yes",
    "\\bssh (?:-\\S{1,120} )*-[a-z]*r ?\\S{0,80}\\d+:\\S{1,120}:\\d+",
    "bash -i ?>&|/dev/(?:tcp|udp)/|\\b(?:nc|ncat|netcat)\\b[^;\\n]{0,60} -[a-z]*e ?\\S{0,80}(?:sh|cmd)|mkfifo \\S{1,120}[^\\n]{0,120}\\b(?:nc|ncat|netcat)\\b|socket\\.socket\\(.{0,200}(?:dup2|/bin/sh)",
  ),
  ...pattern(
    "ssh-backdoor",
    "words",
    `\\b(?:add|append|install|put|authori[sz]e|trust|accept)${gap(6)}(?:public |ssh )key${gap(6)}(?:root|every server|all servers|server|host|machine|authorized keys)\\b`,
    `\\b(?:open|create|start|set up|leave|install|plant)${gap(4)}(?:reverse (?:shell|tunnel)|back ?door)\\b`,
    `\\b(?:enable|allow)${gap(3)}(?:root login|password ?less root|empty passwords)\\b`,
  ),
];

const startFile =
  "(?:\\.bashrc|\\.bash_profile|\\.bash_login|\\.bash_logout|\\.profile|\\.zshrc|\\.zprofile|\\.zshenv|\\.zlogin|config\\.fish|\\$profile|/etc/profile\\S{0,80}|/etc/rc\\.local|/etc/cron\\S{0,80}|/var/spool/cron\\S{0,80}|/etc/init\\.d\\S{0,80}|\\.config/autostart\\S{0,80}|launch(?:agents|daemons)\\S{0,80}|/etc/systemd\\S{0,80}|\\.config/systemd\\S{0,80}|\\.git/hooks\\S{0,80}|start menu\\S{0,80}startup)";
const scheduled =
  "(?:systemd (?:unit|service|timer)|launch ?agent|launch ?daemon|start ?up (?:item|script|entry|task|folder)|scheduled task|login item|cron ?job|cron ?tab(?: entry| line)?|cron entry|autostart entry|run key|shell profile|bash profile)";
const payload =
  "(?:curl|wget|https?|download|downloads|fetch|fetches|payload|reverse|netcat|hidden|tmp|sends?|uploads?|every minute|survives?|stays? (?:alive|active|running)|keeps? (?:you|itself|the agent|running)|restarts? (?:you|itself|the agent)|starts? (?:you|itself|the agent)|phones? home|beacon)";

const persistence = [
  ...pattern(
    "persistence",
    "code",
    `(?:>>?|\\btee(?: -a)?) ?"?'?\\S{0,80}${startFile}`,
    `${notDenied}\\b(?:add|append|write|insert|put|echo|inject|place|drop)\\b(?:(?!\\. ).){0,160}?\\b(?:to|into|in|inside|at the end of)\\b (?:the |your |my |a |his |her |file )?\\S{0,80}${startFile}`,
    `${notDenied}\\b(?:modify|edit|change|alter|patch|extend)\\b(?:(?!\\. ).){0,30}(?:${startFile}|\\bcrontab\\b)(?:(?!\\. ).){0,60}\\b(?:downloads?|curl|wget|launch(?:es)?|executes?|loads? the|payload|agent)\\b`,
    "\\| ?crontab(?: -u \\S{1,120})? -|\\bcrontab (?:-u \\S{1,120} )?(?:/|<|-e\\b)\\S{0,80}.{0,40}(?:\\* \\*|@reboot)|\\(crontab -l|echo [^\\n]{0,160}\\| ?(?:sudo )?(?:crontab|tee \\S{0,80}cron)|\\bcrontab -r\\b",
    "@reboot \\S{1,120}|\\bschtasks(?:\\.exe)? /create|\\breg(?:\\.exe)? add [^\\n]{0,120}\\\\run\\b|\\bnew-scheduledtask|\\bregister-scheduledtask|\\blaunchctl (?:load|bootstrap|submit)\\b|\\bat now ?\\+|\\bsystemctl (?:--user )?enable (?:--now )?\\S{0,80}(?:/tmp|update-helper|backdoor|agent-keep)",
    "(?:[\\d*/,-]+ ){4}[\\da-z*/,-]+ [^\\n]{0,120}\\b(?:curl|wget)\\b[^\\n]{0,120}\\| ?(?:sudo )?(?:ba|z|da)?sh\\b",
    "\\* \\* \\* \\* \\* [^\\n]{0,120}(?:curl|wget|nc|bash -c|python -c|/tmp/|\\| ?(?:ba)?sh)",
  ),
  ...pattern(
    "persistence",
    "words",
    `\\b(?:create|install|write|drop|register|add|set up|make|schedule|put|plant)${gap(6)}${scheduled}${gap(14)}${payload}\\b`,
    `\\b(?:add|append|put|install|write|copy)${gap(4)}(?:yourself|itself|this (?:command|script|line|code)|the (?:following|payload|agent))${gap(6)}(?:cron|crontab|${scheduled}|boot|start ?up|autostart|login|bashrc|zshrc|rc local)\\b`,
    `\\b(?:make sure|ensure)${gap(6)}(?:runs?|starts?|comes? back|survives?|restarts?|is executed|is started)${gap(4)}(?:at|on|after|every|each|across) (?:every |each |any |the |a )?(?:boot|reboot|reboots|login|startup|restart)\\b`,
  ),
];

export const commandPatterns: readonly Pattern[] = [...exfiltration, ...credentialReads, ...backDoors, ...persistence];
