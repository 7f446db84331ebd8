/**
 * People who ask and wait for their answers, and the four moments of each question: handed over, model request, model's
 * last byte, final send. Emulator, model and people share one process, so its own waiting is part of every figure.
 */
import { messageText, startScriptedModel, type ScriptedModel } from "../support/scripted-model.js";
import { startTelegramEmulator, type TelegramEmulator } from "../support/telegram/emulator.js";

export interface Moments {
  readonly saidAt: number;
  askedAt: number;
  answeredAt: number;
  sentAt: number;
}

export interface Load {
  readonly telegram: TelegramEmulator;
  readonly model: ScriptedModel;
  /** One question, from its saying to its answer's send. */
  ask(person: number, text: string): Promise<Moments>;
  /** Forgets what the servers recorded, so that a long run stays small. */
  forget(): void;
  stop(): Promise<void>;
}

/** Telegram lets a bot send about 30 messages a second; the latency is measured below that, whatever the number of chats. */
const perSecond = 25;
const answerMark = "answer to ";

export async function startLoad(): Promise<Load> {
  const open = new Map<string, { moments: Moments; done: (moments: Moments) => void }>();
  const now = (): number => performance.now();
  const model = await startScriptedModel({
    answer: (request) => {
      const text = messageText(request.messages.at(-1));
      const question = open.get(text);
      if (question !== undefined) {
        question.moments.askedAt = now();
        // The server writes the whole answer in this turn of the event loop.
        queueMicrotask(() => (question.moments.answeredAt = now()));
      }
      return { text: `${answerMark}${text}`, chunkSize: 0 };
    },
  });
  const telegram = await startTelegramEmulator();
  telegram.fail("sendMessage", {
    match: (params) => {
      const text = String(params["text"] ?? "");
      const question = text.startsWith(answerMark) ? open.get(text.slice(answerMark.length)) : undefined;
      if (question === undefined) return false;
      open.delete(text.slice(answerMark.length));
      question.moments.sentAt = now();
      question.done(question.moments);
      return false;
    },
  });
  return {
    telegram,
    model,
    ask: (person, text) =>
      new Promise((done) => {
        open.set(text, { moments: { saidAt: now(), askedAt: Number.NaN, answeredAt: Number.NaN, sentAt: Number.NaN }, done });
        telegram.say(person, text);
      }),
    forget() {
      (telegram.calls as unknown[]).length = 0;
      (model.requests as unknown[]).length = 0;
      for (const room of telegram.world.rooms.values()) room.messages.clear();
    },
    stop: async () => void (await Promise.all([telegram.stop(), model.stop()])),
  };
}

/** `chats` conversations at once, each waiting for its answer before it goes on; together `perSecond`, one alone one a second. */
export async function talk(load: Load, chats: number, seconds: number, begins: () => void): Promise<Moments[]> {
  const people = newPeople(load, chats, 1_000_000 + chats * 1_000);
  // The first message of a person makes their account, session and prompt: it is no measure of the messages that follow.
  await Promise.all(people.map((id) => load.ask(id, `first-${chats}-${id}`)));
  begins();
  const until = performance.now() + seconds * 1_000;
  const everyMs = chats === 1 ? 1_000 : (chats / perSecond) * 1_000;
  const all: Moments[] = [];
  await Promise.all(
    people.map(async (id, index) => {
      await pause((index / chats) * everyMs);
      for (let round = 0; performance.now() < until; round += 1) {
        const next = performance.now() + everyMs;
        all.push(await load.ask(id, `q-${chats}-${round}-${id}`));
        await pause(Math.max(0, next - performance.now()));
      }
    }),
  );
  return all;
}

/** Everybody asks at the same moment, `rounds` times; resolves with the seconds it took. */
export async function burst(load: Load, people: readonly number[], rounds: number, name: string): Promise<number> {
  const began = performance.now();
  for (let round = 0; round < rounds; round += 1) {
    await Promise.all(people.map((id) => load.ask(id, `${name}-${round}-${id}`)));
    load.forget();
  }
  return (performance.now() - began) / 1_000;
}

export function newPeople({ telegram }: Load, count: number, firstId: number): number[] {
  const people = Array.from({ length: count }, (_unused, index) => firstId + index);
  for (const id of people) telegram.person(id);
  return people;
}

export function pause(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}
