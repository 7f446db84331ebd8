/**
 * The emulator as a process of its own: `tsx test/support/telegram/main.ts [port] [token]`. Prints one JSON line
 * `{url, token}`; other processes steer it by POST to /control/{person,group,topic,say,press,inject,fail,sent,calls}.
 */
import { startTelegramEmulator, type Said, type TelegramEmulator } from "./emulator.js";
import type { FaultPlan } from "./server.js";

interface ControlBody {
  readonly id: number;
  readonly chatId: number;
  readonly messageId: number;
  readonly text: string;
  readonly title: string;
  readonly data: string;
  readonly from: number;
  readonly said?: Said;
  readonly fields?: object;
  readonly method: string;
  readonly plan: FaultPlan;
  readonly update: object;
}

export function controlRoutes(emulator: TelegramEmulator): (path: string, body: unknown) => unknown {
  return (path, given) => {
    const body = given as ControlBody;
    switch (path) {
      case "person":
        return emulator.person(body.id, body.fields);
      case "group":
        return emulator.group(body.id, body.title).chat;
      case "topic":
        return emulator.topic(body.chatId, body.id);
      case "say":
        return emulator.say(body.chatId, body.text, body.said);
      case "press":
        return emulator.press(body.chatId, body.messageId, body.data, body.from);
      case "inject":
        return emulator.inject({ ...body.update });
      case "fail":
        return void emulator.fail(body.method, body.plan);
      case "sent":
        return emulator.sent.map(({ message, history, reactions }) => ({ message, history, reactions }));
      case "calls":
        return emulator.calls;
      default:
        throw new Error(`no control route ${path}`);
    }
  };
}

if (process.argv[1]?.endsWith("telegram/main.ts") === true) {
  const [port, token] = process.argv.slice(2);
  const emulator = await startTelegramEmulator({
    ...(port === undefined ? {} : { port: Number(port) }),
    ...(token === undefined ? {} : { token }),
    control: controlRoutes,
  });
  process.stdout.write(`${JSON.stringify({ url: emulator.url, token: emulator.token })}\n`);
  const end = (): void => void emulator.stop().then(() => process.exit(0));
  process.on("SIGTERM", end);
  process.on("SIGINT", end);
}
