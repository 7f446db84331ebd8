/**
 * Long conversations with questions about them: ten pairs of people, each with many sessions of about 20 messages. A session has a few things
 * that happened, told over several messages and in other words than the question's; the people and places of a pair come again and again.
 */
import type { CorpusMessage } from "./search-corpus.js";
import { seeded } from "./search-corpus.js";

export interface RecallQuestion {
  readonly space: string;
  readonly text: string;
  readonly session: string;
}

/** What happened: as it is told, as it is answered, as it is asked for (other forms of the words). `{o}` is an object, `{p}` a place. */
const events: readonly (readonly [told: string, answered: string, asked: string])[] = [
  ["I finally adopted {o} last week!", "From the shelter in {p}? That is lovely.", "Who was adopting {o} and where?"],
  ["We were painting {o} all afternoon.", "The one for the school in {p}?", "When did {n} paint {o}?"],
  ["My sister baked {o} for us.", "The recipe of your aunt from {p}!", "What did the sister of {n} bake with {o}?"],
  ["I signed up for {o} classes.", "Do they teach that in {p}?", "Which classes about {o} does {n} attend in {p}?"],
  ["Yesterday I was repairing {o} in the garage.", "Did the spare part from {p} fit?", "What did {n} repair that needed a part from {p}?"],
  ["I have been running with {o} every morning.", "Along the river in {p}, I suppose.", "Where does {n} go for runs with {o}?"],
  ["Our group is organising a fundraiser for {o}.", "Will it be held in {p}?", "What fundraisers has {n} organised for {o}?"],
  ["I sold {o} to a collector.", "Somebody from {p}, you said?", "Who bought {o} from {n}?"],
  ["They promoted me, and I now manage {o}.", "So you will move to {p}?", "What job about {o} was {n} given a promotion to?"],
  ["I lost {o} on the train.", "Call the station in {p}.", "What has {n} lost travelling to {p}?"],
];
const objects =
  "a guitar;two puppies;the old bicycle;a telescope;the blue kayak;pottery;a violin;wild bees;the greenhouse;a vintage camera;the wooden boat;orchids;a chess set;the treehouse;watercolours;a motorbike;stray cats;the attic window;a cookbook;the community garden;an accordion;the pond;homeless veterans;a quilt;the lighthouse model;sourdough;a parrot;the marathon team;stained glass;a drone".split(
    ";",
  );
const places = "Lisbon;Oslo;Porto;Kyoto;Bergen;Tampere;Ghent;Turin;Galway;Bilbao;Leipzig;Malmo".split(";");
const small = [
  "How was your week?",
  "Pretty busy, but good.",
  "I know that feeling.",
  "The weather has been awful lately.",
  "Tell me more about it!",
  "That sounds great.",
  "I have been thinking about family a lot.",
  "We should meet soon.",
  "Work is stressful at the moment.",
  "I slept badly.",
  "Thanks for asking, it helps to talk.",
  "I watched a film yesterday, nothing special.",
  "My friends came over for dinner.",
  "I am proud of you.",
  "Music always calms me down.",
  "I took the kids to the park.",
  "Do you remember what we planned for the summer?",
  "It was a nice change from the routine.",
  "I want to learn something new this year.",
  "Take care of yourself!",
];
const names = ["Caroline", "Melanie", "Jon", "Gina", "Maria", "Nate", "Joanna", "Tim", "Evan", "Dave"];

const sessionsPerSpace = 27;

export function recallCorpus(): { readonly messages: CorpusMessage[]; readonly questions: RecallQuestion[] } {
  const random = seeded(42);
  const pick = <Item>(list: readonly Item[]): Item => {
    const item = list[Math.floor(random() * list.length)];
    if (item === undefined) throw new Error("The list is empty.");
    return item;
  };
  const messages: CorpusMessage[] = [];
  const questions: RecallQuestion[] = [];
  for (let pair = 0; pair < 10; pair += 1) {
    const space = `talk${pair}`;
    const people = [names[pair] ?? "Ann", names[(pair + 1) % names.length] ?? "Ben"] as const;
    const told = new Set<string>();
    for (let number = 0; number < sessionsPerSpace; number += 1) {
      const session = `${space}-${number}`;
      const texts = Array.from({ length: 18 }, () => pick(small));
      for (let count = 0; count < 3; count += 1) {
        const [tells, answers, asks] = pick(events);
        const [object, place] = [pick(objects), pick(places)];
        // An event is told once in a space, but its object and its place may come again.
        if (told.has(tells + object)) continue;
        told.add(tells + object);
        const at = 1 + count * 6 + Math.floor(random() * 2) * 2;
        const fill = (text: string): string =>
          text
            .replace("{o}", object)
            .replace("{p}", place)
            .replace("{n}", people[at % 2] ?? "");
        texts.splice(at, 2, fill(tells), fill(answers));
        if (random() < 0.5) texts[at + 3] = `By the way, how is it going with ${pick(objects)}?`;
        questions.push({ space, text: fill(asks), session });
      }
      texts.forEach((text, index) =>
        messages.push({
          session,
          space,
          role: index % 2 === 0 ? "user" : "assistant",
          author: people[index % 2] ?? "",
          at: Date.UTC(2023, 0, 3 + number * 9, 10, index),
          text,
        }),
      );
    }
  }
  return { messages, questions };
}
