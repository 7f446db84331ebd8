/** A person's data at Honcho: listing all of it, and deleting it. Peers themselves cannot be deleted there; an empty one is left. */
import type { PersonAtProvider } from "../ports/memory-provider.js";
import { isMissing } from "./failure.js";
import type { Honcho, HonchoClient, Peer } from "./honcho-client.js";
import { personTag, sessionTag, spaceTag } from "./place.js";

/** Everyone this person is or was, in every space they spoke in; then the notes of their own spaces. */
function peersOf({ personId, aliases, groupSpaceIds }: PersonAtProvider): string[] {
  const ids = [personId, ...aliases];
  const own = ids.map((id) => personTag({ personId: id, spaceId: id }));
  const inGroups = ids.flatMap((id) => groupSpaceIds.map((spaceId) => personTag({ personId: id, spaceId })));
  return [...own, ...inGroups, ...ids.map(spaceTag)];
}

export async function exportPerson(client: HonchoClient, person: PersonAtProvider): Promise<unknown> {
  const peers: unknown[] = [];
  for (const id of peersOf(person)) peers.push(await client.peer(id, (peer) => exportPeer(peer)));
  return { service: "honcho", peers };
}

async function exportPeer(peer: Peer): Promise<unknown> {
  const conclusions: unknown[] = [];
  for await (const { id, content, createdAt } of await peer.conclusions.list({ size: 100 })) conclusions.push({ id, content, createdAt });
  const sessions: unknown[] = [];
  for await (const session of await peer.sessions({ size: 100 })) {
    const messages: unknown[] = [];
    for await (const message of await session.messages({ filters: { peer_id: peer.id }, size: 100 })) {
      messages.push({ id: message.id, content: message.content, createdAt: message.createdAt });
    }
    sessions.push({ id: session.id, messages });
  }
  return { peer: peer.id, card: (await peer.getCard()) ?? [], conclusions, sessions };
}

export async function forgetPerson(client: HonchoClient, person: PersonAtProvider): Promise<void> {
  for (const session of person.sessions) {
    await client.use((honcho) => deleteSession(honcho, sessionTag(session)));
  }
  for (const id of peersOf(person)) {
    await client.peer(id, async (peer) => {
      // Collected first: deleting while paging would skip some.
      const ids: string[] = [];
      for await (const held of await peer.conclusions.list({ size: 100 })) ids.push(held.id);
      for (const held of ids) await peer.conclusions.delete(held).catch(unlessMissing);
      await peer.setCard([]);
    });
  }
}

/** A session that was deleted before may not even be opened. */
export async function deleteSession(honcho: Honcho, id: string): Promise<void> {
  try {
    await (await honcho.session(id)).delete();
  } catch (error) {
    unlessMissing(error);
  }
}

export function unlessMissing(error: unknown): void {
  if (!isMissing(error)) throw error;
}
