import type { ZoneEntry } from '#lan/http/index.ts';
import { useWords } from './context.ts';
import { dangerZones } from './danger-zones.ts';
import { Badge } from './parts.tsx';

/** `chosen`: those that something is to be done with; without it none can be chosen. */
export function Zones(props: {
  zones: readonly ZoneEntry[];
  chosen?: readonly string[];
  onChosen?: (chosen: readonly string[]) => void;
}) {
  const { t } = useWords();
  const { zones, chosen, onChosen } = props;
  return (
    <details>
      <summary>{t('partitions.zones', { count: zones.length })}</summary>
      {onChosen !== undefined && <p class="hint">{t('partitions.choose')}</p>}
      <ul class="rows">
        {zones.map((zone) => (
          <li key={zone.number}>
            {chosen === undefined || onChosen === undefined ? (
              <Name zone={zone} />
            ) : (
              <label class="check">
                <input
                  type="checkbox"
                  checked={chosen.includes(zone.number)}
                  onChange={({ currentTarget: { checked } }) => {
                    const others = chosen.filter((number) => number !== zone.number);
                    onChosen(checked ? [...others, zone.number] : others);
                  }}
                />{' '}
                <Name zone={zone} />
              </label>
            )}
            <State zone={zone} />
          </li>
        ))}
      </ul>
    </details>
  );
}

const Name = ({ zone: { number, name } }: { zone: ZoneEntry }) => (
  <span>
    {number} <bdi>{name}</bdi>
  </span>
);

function State({ zone }: { zone: ZoneEntry }) {
  const { t } = useWords();
  const { open, alarm, tamper, bypassed, low_battery, online, reports_only } = zone;
  const isUnheard = open === null && reports_only !== true;
  const words = [
    ...(alarm ? [t('zone.alarm')] : []),
    ...(tamper ? [t('zone.tamper')] : []),
    ...(online ? [] : [t('zone.offline')]),
    ...(low_battery ? [t('zone.battery')] : []),
    ...(bypassed ? [t('zone.bypassed')] : []),
    t(levelWord(zone)),
  ];
  return (
    <Badge tone={alarm || tamper ? 'bad' : open === true || isUnheard || !online || low_battery ? 'note' : 'plain'}>
      {words.join(', ')}
    </Badge>
  );
}

function levelWord({ type, open, reports_only }: ZoneEntry) {
  if (open === null) return reports_only === true ? 'unknown' : 'zone.unheard';
  if (dangerZones.has(type)) return open ? 'zone.tripped' : 'zone.quiet';
  return open ? 'zone.open' : 'zone.closed';
}
