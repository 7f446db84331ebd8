import { describe, expect, it } from "vitest";
import { causeOf } from "../../../src/model/model-failure.js";
import { requestBody } from "../../../src/model/model-request.js";
import { imagesOf } from "../../../src/model/request-images.js";
import type { ModelRequest } from "../../../src/ports/chat-model.js";

const image = { type: "image", mimeType: "image/png", file: "media/2026-01-01/s/1.bin" } as const;
const request: ModelRequest = {
  model: "m",
  system: "",
  tools: [],
  entries: [
    { role: "user", content: "Look.", images: [image] },
    { role: "assistant", content: "Yes." },
    { role: "user", content: "Again.", images: [image] },
  ],
};
const body = requestBody(request, { imageUrl: () => "data:image/png;base64,AA==" }, new Set());
const refusal = (status: number, message: string) => causeOf({ status, message }, { now: 0, body }).refusedImages;

describe("images in a request", () => {
  it("stand after the words, and a fixed text stands for one that is gone", () => {
    expect(body.messages[0]?.content).toEqual([
      { type: "text", text: "Look." },
      { type: "image_url", image_url: { url: "data:image/png;base64,AA==" } },
    ]);
    expect(requestBody(request, {}, new Set()).messages[0]?.content).toEqual([
      { type: "text", text: "Look." },
      { type: "text", text: "[an image that cannot be shown]" },
    ]);
  });

  it("are read once each, and not at all for a model that takes none", async () => {
    const read: string[] = [];
    const urlOf = await imagesOf(request.entries, true, (one) => {
      read.push(one.file);
      return Promise.resolve("data:x");
    });
    expect(urlOf(image)).toBe("data:x");
    expect(read).toEqual([image.file]);
    expect((await imagesOf(request.entries, false, () => Promise.resolve("data:x")))(image)).toBeUndefined();
  });

  it.each([
    [400, "Invalid content type. image_url is only supported by certain models."],
    [404, "No endpoints found that support image input"],
    [400, "qwen3-8b is not a multimodal model"],
    [500, "this model is missing data required for image input"],
    [422, "Failed to deserialize the JSON body: unknown variant `image_url`, expected `text`"],
    [400, "This model does not support image input"],
  ])("a model without eyes is known by what its server says: %i %s", (status, message) => {
    expect(refusal(status, message)).toBe("ever");
  });

  it.each([
    [400, "You uploaded an unsupported image. Please make sure your image is valid."],
    [400, "image exceeds 5 MB maximum: 6291456 bytes > 5242880 bytes"],
  ])("a picture that is refused says nothing about the model: %i %s", (status, message) => {
    expect(refusal(status, message)).toBe("these");
  });

  it("other failures, and requests without images, are not about images", () => {
    expect(refusal(429, "slow down")).toBeUndefined();
    expect(refusal(400, "temperature is not allowed")).toBeUndefined();
    const plain = requestBody({ ...request, entries: [{ role: "user", content: "Hi" }] }, {}, new Set());
    expect(
      causeOf({ status: 400, message: "This model does not support image input" }, { now: 0, body: plain }).refusedImages,
    ).toBeUndefined();
  });
});
