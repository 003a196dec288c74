export { Client, type Operation } from "./client.js";
export { MemoryKeys, type KeyEntry, type KeyStore, type TakenKey } from "./keys.js";
export { defaultOptions, realSurroundings, type ClientOptions, type Retry, type Surroundings } from "./options.js";
export { GaveUpError, type Finished, type GaveUp, type Result, type Why } from "./result.js";
export { isReplayed } from "./verdict.js";
export { WebStorageKeys, type WebStorage } from "./web_storage_keys.js";
