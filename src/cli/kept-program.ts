import { constants as access, accessSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { createRequire, getCompileCacheDir } from 'node:module';
import { basename, dirname, join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { debuglog } from 'node:util';
import { setFlagsFromString } from 'node:v8';
import { constants, Script } from 'node:vm';
import { crc32 } from 'node:zlib';

/** `NODE_DEBUG=siteward-start` shows it. */
const told = debuglog('siteward-start');
const sumBytes = 4;

/** What the text of a program is, for Node has no other way to give it these names: a text put together here would be held twice in memory. */
export const programBegins = '(function (exports, require, module, __dirname, __url) {';
export const programEnds = '})';
type Program = (exports: object, require: NodeJS.Require, module: object, dirname: string, url: string) => void;

/**
 * Runs a program in CommonJS (its path; ASCII; one function, as above) with what V8 kept of it in Node's compile cache, and gives what it exports. Node's own way
 * keeps a program as it was before it ran, so that each function is compiled anew at its first call, a quarter of a start. What is kept here is made as the
 * process ends, and holds every function that has run. No folder for it, or nothing of use in there: the program runs all the same.
 */
export function runKept(file: string): Readonly<Record<string, unknown>> {
  const bytes = readFileSync(file);
  const kept = keptFile(file, bytes);
  const cachedData = kept === undefined ? undefined : read(kept);
  const script = new Script(bytes.toString('latin1'), {
    filename: file,
    cachedData,
    importModuleDynamically: constants.USE_MAIN_CONTEXT_DEFAULT_LOADER,
  });
  const isTaken = script.cachedDataRejected === false;
  told('%s: %s', basename(file), isTaken ? 'taken' : 'compiled');
  if (kept !== undefined && !isTaken && mayKeep(kept)) keepAtExit(kept, script);
  const module = { exports: {} };
  const program: Program = script.runInThisContext();
  program(module.exports, createRequire(file), module, dirname(file), pathToFileURL(file).href);
  return module.exports;
}

/** Where it is kept: by its text, since V8 compares no more of a text than its length. Node's folder is one for its version and the processor. */
function keptFile(file: string, bytes: Uint8Array): string | undefined {
  const folder = getCompileCacheDir();
  return folder === undefined ? undefined : join(folder, `${basename(file)}-${crc32(bytes).toString(16)}`);
}

/** Undefined where there is none, or a damaged one: V8 does not look. */
function read(kept: string): Buffer | undefined {
  try {
    const bytes = readFileSync(kept);
    const data = bytes.subarray(0, -sumBytes);
    return crc32(data) === bytes.readUInt32LE(data.length) ? data : undefined;
  } catch {
    return undefined;
  }
}

/** Not on an installed box, where the folder belongs to root: V8 then forgets what nobody calls, as always. */
function mayKeep(kept: string): boolean {
  try {
    accessSync(dirname(kept), access.W_OK);
    return true;
  } catch {
    return false;
  }
}

function keepAtExit(kept: string, script: Script): void {
  // What ran once would be forgotten by then. As it was again in time: V8 takes nothing that was made with other flags than its own.
  setFlagsFromString('--no-flush-bytecode');
  process.once('exit', () => {
    setFlagsFromString('--flush-bytecode');
    keep(kept, script.createCachedData());
  });
}

function keep(kept: string, data: Buffer): void {
  const sum = Buffer.alloc(sumBytes);
  sum.writeUInt32LE(crc32(data));
  const part = `${kept}.${process.pid}`;
  try {
    writeFileSync(part, Buffer.concat([data, sum]), { mode: 0o600 });
    renameSync(part, kept);
    forgetOthers(kept);
    told('%s: kept', basename(kept));
  } catch {
    // As on a full disk.
    rmSync(part, { force: true });
  }
}

/** What was kept of other texts of the program, and by processes that did not come to its end. */
function forgetOthers(kept: string): void {
  const name = basename(kept);
  const program = name.slice(0, name.lastIndexOf('-') + 1);
  for (const other of readdirSync(dirname(kept)))
    if (other.startsWith(program) && other !== name) rmSync(join(dirname(kept), other), { force: true });
}
