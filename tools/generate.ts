import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { configJsonSchema } from '#config/index.ts';
import { accessPage } from './pages/access.ts';
import { asyncApi } from './pages/asyncapi.ts';
import { cameraTopicsPage } from './pages/camera-topics.ts';
import { cloudApi } from './pages/cloud-api.ts';
import { configurationPage } from './pages/configuration.ts';
import { errorsPage } from './pages/errors.ts';
import { lanApi } from './pages/lan-api.ts';
import { mqttPage } from './pages/mqtt.ts';
import { mqttSchemas } from './pages/mqtt-schemas.ts';
import { outboxPage } from './pages/outbox.ts';
import { panelsPage } from './pages/panels.ts';
import { rulesPage } from './pages/rules.ts';
import { sandboxApi } from './pages/sandbox-api.ts';

/** Files made from the sources. `npm run generate` writes them, `-- --check` fails when one is out of step. */
interface Generator {
  readonly path: string;
  text(): string;
}

const json = (value: unknown): string => `${JSON.stringify(value, null, 2)}\n`;

const generators: readonly Generator[] = [
  { path: 'config/siteward.schema.json', text: () => json(configJsonSchema()) },
  { path: 'docs/access.md', text: accessPage },
  { path: 'docs/asyncapi.yaml', text: asyncApi },
  { path: 'docs/camera-topics.md', text: cameraTopicsPage },
  { path: 'docs/configuration.md', text: configurationPage },
  { path: 'docs/errors.md', text: errorsPage },
  { path: 'docs/mqtt.md', text: mqttPage },
  { path: 'docs/outbox.md', text: outboxPage },
  { path: 'docs/panels.md', text: panelsPage },
  { path: 'docs/rules.md', text: rulesPage },
  { path: 'docs/openapi/cloud.yaml', text: cloudApi },
  { path: 'docs/openapi/lan.yaml', text: lanApi },
  { path: 'docs/openapi/sandbox.yaml', text: sandboxApi },
  { path: 'docs/schemas/mqtt.schema.json', text: () => json(mqttSchemas()) },
];

const root = join(import.meta.dirname, '..');

function isCurrent({ path, text }: Generator): boolean {
  try {
    return readFileSync(join(root, path), 'utf8') === text();
  } catch {
    return false;
  }
}

const stale = generators.filter((generator) => !isCurrent(generator));
if (process.argv.includes('--check')) {
  for (const { path } of stale) console.error(`${path} is out of step with the sources; run "npm run generate"`);
  process.exitCode = stale.length === 0 ? 0 : 1;
} else {
  for (const { path, text } of stale) {
    mkdirSync(dirname(join(root, path)), { recursive: true });
    writeFileSync(join(root, path), text());
    console.log(`wrote ${path}`);
  }
}
