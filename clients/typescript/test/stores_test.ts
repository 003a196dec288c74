import assert from "node:assert/strict";
import { readdir, readFile, stat, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { test } from "node:test";

import { MemoryKeys, WebStorageKeys, type KeyStore } from "@oncekey/client";
import { FileKeys } from "@oncekey/client/node";

import { inFolder, MapStorage, storeKinds } from "./stores.js";

function onEveryStore(sentence: string, body: (keys: KeyStore) => Promise<void>): void {
  for (const kind of storeKinds) test(`${sentence} (${kind.name})`, () => kind.use(body));
}

onEveryStore("a name keeps its first key until it is removed", async (keys) => {
  const first = await keys.take("pay invoice 7", "key-1", 1000);
  assert.deepEqual(first, { entry: { name: "pay invoice 7", key: "key-1", createdAt: 1000, expiresAt: 0 }, wasThere: false });
  const second = await keys.take("pay invoice 7", "key-2", 2000);
  assert.deepEqual(second, { entry: first.entry, wasThere: true });
  await keys.remove("pay invoice 7", "key-1");
  assert.equal((await keys.take("pay invoice 7", "key-3", 3000)).wasThere, false);
});

onEveryStore("another key's end changes nothing", async (keys) => {
  await keys.take("a", "key-1", 1000);
  await keys.remove("a", "key-0");
  await keys.setExpiry("a", "key-0", 5000);
  await keys.remove("b", "key-1");
  await keys.setExpiry("b", "key-1", 5000);
  assert.deepEqual(await keys.list(), [{ name: "a", key: "key-1", createdAt: 1000, expiresAt: 0 }]);
  await keys.setExpiry("a", "key-1", 5000);
  assert.deepEqual(await keys.list(), [{ name: "a", key: "key-1", createdAt: 1000, expiresAt: 5000 }]);
});

onEveryStore("any name comes back as it was", async (keys) => {
  const names = ["tab\tand\nline", "100%", "../up", "ümlaut", " ", "nul\0byte", "a".repeat(1000)];
  for (const name of names) await keys.take(name, `key-of-${name.length}`, 1);
  const listed = await keys.list();
  assert.deepEqual(listed.map((entry) => entry.name).sort(), [...names].sort());
  for (const entry of listed) assert.equal(entry.key, `key-of-${entry.name.length}`);
});

onEveryStore("names are bounded", async (keys) => {
  await assert.rejects(keys.take("", "key-1", 1), /1 to 1000/);
  await assert.rejects(keys.take("a".repeat(1001), "key-1", 1), /1 to 1000/);
  assert.deepEqual(await keys.list(), []);
});

onEveryStore("of many who take one name at once, all get one key", async (keys) => {
  const taken = await Promise.all(Array.from({ length: 20 }, (_, i) => keys.take("a", `key-${i}`, i)));
  assert.equal(new Set(taken.map(({ entry }) => entry.key)).size, 1);
  assert.equal(taken.filter(({ wasThere }) => !wasThere).length, 1);
});

test("a full memory takes no more", async () => {
  const keys = new MemoryKeys();
  for (let i = 0; i < 10_000; ++i) await keys.take(`name-${i}`, "key", 1);
  await assert.rejects(keys.take("one more", "key", 1), /10000 operations/);
  assert.equal((await keys.take("name-7", "other", 1)).wasThere, true);
});

test("a full Web Storage takes no more", async () => {
  const storage = new MapStorage();
  for (let i = 0; i < 10_000; ++i) storage.setItem(`oncekey:name-${i}`, "");
  await assert.rejects(new WebStorageKeys(storage).take("one more", "key", 1), /10000 operations/);
});

test("a full key folder takes no more", () =>
  inFolder(async (folder) => {
    const keys = new FileKeys(folder);
    for (let i = 0; i < 10_000; i += 500) {
      await Promise.all(Array.from({ length: 500 }, (_, j) => writeFile(join(folder, `${i + j}.key`), "")));
    }
    await assert.rejects(keys.take("one more", "key", 1), /10000 operations/);
  }));

test("two file stores on one folder are one", () =>
  inFolder(async (folder) => {
    const stores = Array.from({ length: 8 }, () => new FileKeys(join(folder, "keys")));
    const taken = await Promise.all(stores.map((keys, i) => keys.take("a", `key-${i}`, i)));
    assert.equal(new Set(taken.map(({ entry }) => entry.key)).size, 1);
    assert.equal((await readdir(join(folder, "keys"))).length, 1, "a file that was on its way is left");
  }));

test("key files are readable by their owner only", () =>
  inFolder(async (folder) => {
    await new FileKeys(join(folder, "keys")).take("a", "key-1", 1);
    const [file] = await readdir(join(folder, "keys"));
    assert.equal((await stat(join(folder, "keys"))).mode & 0o777, 0o700);
    assert.equal((await stat(join(folder, "keys", file!))).mode & 0o777, 0o600);
  }));

test("a folder whose parent is missing is an error", () =>
  inFolder(async (folder) => {
    await assert.rejects(new FileKeys(join(folder, "none", "keys")).take("a", "key-1", 1), /none/);
  }));

test("a damaged key file is an error and stays as it is", () =>
  inFolder(async (folder) => {
    const keys = new FileKeys(folder);
    await keys.take("a", "key-1", 1);
    const path = join(folder, (await readdir(folder))[0]!);
    const whole = await readFile(path, "utf8");
    const damages = ["", whole.slice(0, 20), whole.replace('"a"', '"b"'), whole.replace("key-1", ""), "[]", "null"];
    for (const damaged of damages) {
      await writeFile(path, damaged);
      await assert.rejects(keys.take("a", "key-2", 2), (error: Error) => error.message.includes(path));
      await assert.rejects(keys.remove("a", "key-1"), /damaged/);
      assert.equal(await readFile(path, "utf8"), damaged);
    }
  }));

test("a damaged item of the Web Storage is an error and stays as it is", async () => {
  const storage = new MapStorage();
  const keys = new WebStorageKeys(storage);
  storage.setItem("oncekey:a", "{}");
  await assert.rejects(keys.take("a", "key-1", 1), /oncekey:a/);
  assert.equal(storage.getItem("oncekey:a"), "{}");
});

test("a Web Storage that is full, or forgets, is an error", async () => {
  const full = new MapStorage();
  full.setItem = () => {
    throw new DOMException("the quota has been exceeded", "QuotaExceededError");
  };
  await assert.rejects(new WebStorageKeys(full).take("a", "key-1", 1), /quota/);
  const forgetful = new MapStorage();
  forgetful.setItem = () => undefined;
  await assert.rejects(new WebStorageKeys(forgetful).take("a", "key-1", 1), /does not keep/);
});

test("others' items in the Web Storage are left alone", async () => {
  const storage = new MapStorage();
  storage.setItem("theme", "dark");
  const keys = new WebStorageKeys(storage);
  await keys.take("a", "key-1", 1);
  assert.deepEqual((await keys.list()).map((entry) => entry.name), ["a"]);
  await keys.remove("a", "key-1");
  assert.deepEqual([...storage.items], [["theme", "dark"]]);
});
