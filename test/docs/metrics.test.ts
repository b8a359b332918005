import { expect, test } from 'vitest';
import { eventually } from '#sandbox/demo/processes.ts';
import { metricsOf } from '../harness/control.ts';
import { camera, startSite } from '../harness/site.ts';
import { read } from './markdown.ts';

/** Those of Node itself, which the page names as a whole. */
const ofNode = /^siteward_(?:process|nodejs)_/;

/** `name kind`, as they are offered. */
const kindsOf = (text: string): string[] =>
  [...text.matchAll(/^# TYPE (siteward_\w+) (\w+)$/gm)]
    .map((match) => `${match[1]} ${match[2]}`)
    .filter((kind) => !ofNode.test(kind));
const tableOf = () =>
  [...read('docs/operations.md').matchAll(/^\| `(siteward_\w+)(?:\{([\w, ]+)\})?` \| (\w+) \|/gm)].map(
    (match) => `${match[1]} ${match[3]}`,
  );

test('the list of further metrics with cloud.partner is what such a daemon offers more, with labels', async () => {
  const site = await startSite({
    broker: 'embedded',
    siteYaml: 'id: "4711", dealer_id: "17"',
    cloudYaml:
      '  ext_base_url: http://127.0.0.1:9\n  api_key: { env: PARTNER }\n  partner: { client_id: partner-9, client_secret: { env: PARTNER } }\n',
    env: { PARTNER: 'metrics-partner-secret' },
    yaml: () => `
partitions: [ { id: p1, name: Shop } ]
verification: { contacts: [ { user: anna, contact_id: 7 } ] }
`,
    async prepare(cloud) {
      const place = { site_id: 4711, external_site_id: 'proof', name: 'Proof', timezone: 'Europe/Berlin' };
      const dealer = { dealer_id: 17, external_dealer_id: 'd17', sites: [place] };
      await cloud.control('dealers', { method: 'POST', body: dealer });
      const client = { client_id: 'partner-9', client_secret: 'metrics-partner-secret' };
      await cloud.control('clients', { method: 'POST', body: client });
    },
  });
  try {
    const further = read('docs/operations.md').split('Where `cloud.partner` is set there are further ones:')[1] ?? '';
    const list = [...further.matchAll(/^- `(siteward_\w+)(?:\{([\w, ]+)\})?`, (\w+): /gm)];
    const text = await metricsOf(site.socket);
    const inTable = new Set(tableOf());
    const more = kindsOf(text).filter((kind) => !inTable.has(kind));
    expect(list.map((match) => `${match[1]} ${match[3]}`).sort()).toEqual(more.sort());
    const seen = await eventually('the cloud was asked', async () => {
      const now = await metricsOf(site.socket);
      const isAsked = ['cloud_mirror_reads', 'cloud_device_syncs', 'arming_sync_requests'].every((name) =>
        new RegExp(`^siteward_${name}_total\\{`, 'm').test(now),
      );
      return isAsked ? now : undefined;
    });
    for (const [, name, labels = ''] of list) {
      const value = new RegExp(`^${name}(?:\\{([^}]*)\\})? `, 'm').exec(seen);
      if (value === null) continue;
      const used = [...(value[1] ?? '').matchAll(/(\w+)="/g)].map((match) => match[1]);
      expect(used.sort(), name).toEqual(
        labels
          .split(', ')
          .filter((label) => label !== '')
          .sort(),
      );
    }
  } finally {
    await site.close();
  }
});

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
    const offered = kindsOf(text).sort();
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
