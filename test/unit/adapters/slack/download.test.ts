/** Files that come in: where the token goes, and what is taken for a file. */
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import type { Attachment } from "../../../../src/domain/message.js";
import { attachmentsOf } from "../../../../adapters/slack/attachments.js";
import type { SlackFile } from "../../../support/slack/workspace.js";
import { slackRig, type SlackRig } from "../../../support/slack/rig.js";

let rig: SlackRig;
beforeEach(async () => {
  rig = await slackRig();
});
afterEach(() => rig.close());

const attachment = (file: SlackFile): Attachment => {
  const [first] = attachmentsOf({ files: [file] });
  if (first === undefined) throw new Error("no attachment");
  return first;
};
const fetchIt = async (file: SlackFile, maxBytes = 10_000): Promise<Buffer> => {
  const download = await rig.adapter.download(attachment(file), maxBytes, new AbortController().signal);
  const chunks: Uint8Array[] = [];
  for await (const chunk of download.bytes) chunks.push(chunk);
  return Buffer.concat(chunks);
};
const png = Buffer.from("not really a picture");

describe("downloading", () => {
  it("fetches a file from the file host with the bot token", async () => {
    const bytes = await fetchIt(rig.slack.addFile("a.png", "image/png", png));

    expect(bytes).toEqual(png);
    expect(rig.slack.fileRequests[0]?.authorization).toBe(`Bearer ${rig.slack.botToken}`);
  });

  it("IN-10: a login page is no picture, and the missing scope is named", async () => {
    rig.slack.scopes.delete("files:read");

    await expect(fetchIt(rig.slack.addFile("a.png", "image/png", png))).rejects.toMatchObject({
      code: "download.wrong-type",
      message: expect.stringContaining("files:read") as string,
    });
  });

  it("IN-10: a page is recognised by its first bytes, whatever type the answer claims", async () => {
    const page = Buffer.from("\n<!DOCTYPE html><html><body>sign in</body></html>");

    await expect(fetchIt(rig.slack.addFile("a.png", "image/png", page))).rejects.toMatchObject({ code: "download.wrong-type" });
  });

  it("a page that somebody uploaded as a page is a file", async () => {
    const page = Buffer.from("<!DOCTYPE html><html><body>mine</body></html>");

    expect(await fetchIt(rig.slack.addFile("a.html", "text/html", page))).toEqual(page);
  });

  it("the token is never sent along a redirect to another host", async () => {
    const file = rig.slack.addFile("a.png", "image/png", png);
    rig.slack.redirects.set(new URL(String(file["url_private"])).pathname, `${rig.slack.elsewhereOrigin}/login`);

    await expect(fetchIt(file)).rejects.toMatchObject({ code: "download.wrong-type" });
    expect(rig.slack.elsewhereRequests).toEqual([]);
  });

  it("a redirect within the file host is followed, an endless one is not", async () => {
    const file = rig.slack.addFile("a.png", "image/png", png);
    const target = rig.slack.addFile("b.png", "image/png", Buffer.from("moved"));
    const path = new URL(String(file["url_private"])).pathname;
    rig.slack.redirects.set(path, new URL(String(target["url_private"])).pathname);
    expect((await fetchIt(file)).toString()).toBe("moved");

    rig.slack.redirects.set(path, path);
    await expect(fetchIt(file)).rejects.toMatchObject({ code: "download.failed" });
  });

  it.each([
    ["another host", (origin: string) => `${origin}/files-pri/x`],
    ["a host that only looks like it", (_origin: string, host: string) => `http://${host.split(":")[0] ?? ""}.evil.test/x`],
    ["a name and password before it", (_origin: string, host: string) => `http://u:p@${host}/files-pri/x`],
    ["no address at all", () => "not an address"],
  ])("the token is not sent to %s", async (_name, make) => {
    const url = make(rig.slack.elsewhereOrigin, rig.slack.fileHost);
    const file = rig.slack.addFile("a.png", "image/png", png, { url_private: url, url_private_download: url });

    await expect(fetchIt(file)).rejects.toMatchObject({ code: "download.failed" });
    expect(rig.slack.elsewhereRequests).toEqual([]);
    expect(rig.slack.fileRequests).toEqual([]);
  });

  it("a file that lies with another service is not fetched", async () => {
    const file = rig.slack.addFile("a.gdoc", "application/vnd.google-apps.document", png, { mode: "external", is_external: true });

    await expect(fetchIt(file)).rejects.toMatchObject({ code: "download.failed" });
    expect(rig.slack.fileRequests).toEqual([]);
  });

  it("a file without an address is asked for first", async () => {
    const { url_private: _a, url_private_download: _b, ...file } = rig.slack.addFile("a.png", "image/png", png);

    expect(await fetchIt({ ...file, file_access: "check_file_info" })).toEqual(png);
    expect(rig.slack.callsOf("files.info")).toHaveLength(1);
  });

  it("IN-16: a file that is too large is refused by its announced size and by what comes", async () => {
    const big = Buffer.alloc(5_000, 1);

    await expect(fetchIt(rig.slack.addFile("a.bin", "application/octet-stream", big), 1_000)).rejects.toMatchObject({
      code: "download.too-large",
    });
    await expect(fetchIt(rig.slack.addFile("a.bin", "application/octet-stream", big, { size: 10 }), 1_000)).rejects.toMatchObject({
      code: "download.too-large",
    });
  });

  it("a file that is gone is a failure and not an empty file", async () => {
    const file = rig.slack.addFile("a.png", "image/png", png);
    rig.slack.workspace.files.clear();

    await expect(fetchIt(file)).rejects.toMatchObject({ code: "download.failed" });
  });
});
