import { expect, test } from 'vitest';
import { metricsOf } from '../harness/control.ts';
import { camera, startSite } from '../harness/site.ts';
import { read } from './markdown.ts';

/** Those of Node itself, which the page names as a whole. */
const ofNode = /^siteward_(?:process|nodejs)_/;

test('the table of metrics in docs/operations.md is what a whole daemon offers, with kinds and labels', async () => {
  const site = await startSite({
    broker: 'embedded',
    httpYaml: ', listen: "127.0.0.1:0"',
    cameras: ['yard'],
    cloudYaml: '  ext_base_url: http://127.0.0.1:9\n  api_key: { env: METRICS_API_KEY }\n',
    env: { METRICS_API_KEY: 'any' },
    yaml: ({ cameras }) => `
partitions: [ { id: p1, name: Shop } ]
dc09: { listen: "127.0.0.1:0" }
panels:
  - { id: sensors, profile: zigbee2mqtt, zones: { "1": { type: perimeter, name: Door, key: door, partition: p1 } } }
  - { id: caller, profile: sia-dc09, dc09: { account: "1234" } }
cameras:
${camera('yard', cameras.yard, 'partition: p1')}
`,
  });
  try {
    const text = await metricsOf(site.socket);
    const kinds = [...text.matchAll(/^# TYPE (siteward_\w+) (\w+)$/gm)].map((match) => `${match[1]} ${match[2]}`);
    const offered = kinds.filter((kind) => !ofNode.test(kind)).sort();
    const shown = [...read('docs/operations.md').matchAll(/^\| `(siteward_\w+)(?:\{([\w, ]+)\})?` \| (\w+) \|/gm)];
    expect(shown.map((match) => `${match[1]} ${match[3]}`).sort()).toEqual(offered);
    for (const [, name, labels] of shown) {
      const value = new RegExp(`^${name}(?:_count|_total)?(?:\\{([^}]*)\\})? `, 'm').exec(text);
      if (value === null) continue;
      const used = [...(value[1] ?? '').matchAll(/(\w+)="/g)]
        .map((match) => match[1])
        .filter((label) => label !== 'le');
      expect(used.sort(), name).toEqual(
        (labels ?? '')
          .split(', ')
          .filter((label) => label !== '')
          .sort(),
      );
    }
    expect(text).toMatch(/^siteward_outbox_parked\{lane="alarm"\} 0$/m);
    expect(text).toMatch(/^siteward_outbox_oldest_age_seconds\{lane="alarm"\} \d/m);
    expect(Number(/^siteward_written_bytes_total (\d+)$/m.exec(text)?.[1])).toBeGreaterThanOrEqual(0);
  } finally {
    await site.close();
  }
});
