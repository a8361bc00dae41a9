// Tests of what shows words show English.
import { use, wordsOfEditors } from "../src/words";

await use("en");
await wordsOfEditors();
