import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { buildAudioLibrary, checkDigests } from './audio-library.ts';
import { makeBundle } from './bundle.ts';

const folder = join(import.meta.dirname, '..', 'dist');
rmSync(folder, { recursive: true, force: true });
const { bytes, inputs } = await makeBundle(folder);
checkDigests(await buildAudioLibrary(join(folder, 'audio')));
console.log(`dist: ${(bytes / 1e6).toFixed(1)} MB from ${inputs.length} files; better-sqlite3 stays outside`);
