import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { TopicRow } from '#devices/onvif/topic-row.ts';
import { coreTopics } from '#devices/onvif/topics-core.ts';
import { vendorTables } from '#devices/onvif/topics-vendors.ts';
import { detectionClasses } from '#site/model/index.ts';

/** `docs/camera-topics.md`: the topic table put into the hand-written template. */
export function cameraTopicsPage(): string {
  const template = readFileSync(join(import.meta.dirname, 'camera-topics.template.md'), 'utf8');
  return template.replace('{{topics}}', () =>
    [['Any vendor', coreTopics] as const, ...Object.entries(vendorTables)]
      .map(([vendor, rows]) => `## ${vendor}\n\n| class | topics |\n|---|---|\n${tableOf(rows).join('\n')}\n`)
      .join('\n'),
  );
}

function tableOf(rows: readonly TopicRow[]): string[] {
  const known = detectionClasses.flatMap((detection) => {
    const mine = rows.filter((row) => row.kind !== 'ignored' && classesOf(row).includes(detection));
    return mine.length === 0 ? [] : [`| \`${detection}\` | ${mine.map(topicText).join(', ')} |`];
  });
  const left = rows.filter(({ kind }) => kind === 'ignored').map(({ topic }) => `\`${topic}\``);
  return left.length === 0 ? known : [...known, `| nothing | ${left.join(', ')} |`];
}

const classesOf = (row: TopicRow): readonly string[] => [
  ...(row.detection === undefined ? [] : [row.detection]),
  ...Object.values(row.byData ?? {}),
  ...Object.values(row.byValue?.classes ?? {}),
  ...(row.kind === 'classes' ? ['person', 'vehicle', 'animal', 'face', 'package'] : []),
];

/** `!`: each message is an event, and nothing ends. */
const topicText = ({ topic, kind }: TopicRow): string => `\`${topic}\`${kind === 'pulse' ? ' !' : ''}`;
