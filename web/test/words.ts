// Tests of what shows words show English.
import { use, wordsOf } from "../src/words";

await use("en");
await wordsOf("edit");
await wordsOf("tell");
await wordsOf("find");
