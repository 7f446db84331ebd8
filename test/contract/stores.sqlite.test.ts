/** The stores' contract against the SQLite implementation on a real file. */
import { describe } from "vitest";
import { tempHome } from "../support/temp-home.js";
import { openTestStores } from "../unit/storage/open-stores.js";
import { storesContract } from "./stores.contract.js";

describe("SQLite stores", () => {
  storesContract(() => openTestStores(tempHome()));
});
