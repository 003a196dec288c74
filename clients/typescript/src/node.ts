export { FileKeys } from "./file_keys.js";
