import { freeZones, type Place } from './camera-entry.ts';
import { useLive, useWords } from './context.ts';
import { Choice, Field } from './parts.tsx';
import { pictureTimes } from './picture-times.ts';

const zoneTypes = ['video_person_perimeter', 'video_person_interior', 'video_line_cross'] as const;

/** Name of a camera, and the zone and partition that it belongs to. */
export function PlaceFields(props: {
  /** Of the fields, since several forms may be open. */
  prefix: string;
  place: Place;
  /** Zone numbers of all others. */
  taken: ReadonlySet<string>;
  onPlace: (place: Place) => void;
  against?: (member: string) => string | undefined;
}) {
  const { partitions, zones } = useLive();
  const { t, word } = useWords();
  const { prefix, place, taken, onPlace, against } = props;
  const set = (name: keyof Place) => (value: string) => onPlace({ ...place, [name]: value });
  const owner = zones.find(({ number }) => number === place.zone)?.name ?? '';
  const twice = taken.has(place.zone) ? t('setup.camera.zoneTaken', { zone: place.zone, name: owner }) : undefined;
  const text = { autocomplete: 'off', required: false } as const;
  return (
    <>
      <Field
        {...text}
        {...{ name: `${prefix}-name`, label: t('setup.camera.name'), value: place.name }}
        fault={against?.('name')}
        onInput={set('name')}
      />
      <Field
        {...text}
        {...{ name: `${prefix}-zone`, label: t('setup.camera.zone'), value: place.zone }}
        hint={t('setup.camera.zoneHint', { free: freeZones(taken, 4).join(', ') })}
        fault={twice ?? against?.('zone')}
        onInput={set('zone')}
      />
      {place.zone !== '' && (
        <Choice
          {...{ name: `${prefix}-zone-type`, label: t('setup.camera.zone_type'), onInput: set('zone_type') }}
          value={place.zone_type === '' ? zoneTypes[0] : place.zone_type}
          options={[...new Set<string>([...zoneTypes, ...(place.zone_type === '' ? [] : [place.zone_type])])].map(
            (type) => [type, word('zoneType', type)],
          )}
          fault={against?.('zone_type')}
        />
      )}
      <Choice
        {...{ name: `${prefix}-partition`, label: t('setup.camera.partition'), value: place.partition }}
        options={[
          ['', t(partitions.length === 1 ? 'setup.camera.onlyPartition' : 'setup.camera.noPartition')],
          ...partitions.map(({ id, name }) => [id, `${name} (${id})`] as const),
        ]}
        fault={against?.('partition')}
        onInput={set('partition')}
      />
      <Choice
        {...{ name: `${prefix}-pictures`, label: t('setup.camera.pictures'), hint: t('setup.camera.picturesHint') }}
        value={place.pictures === '' ? pictureTimes[0] : place.pictures}
        options={pictureTimes.map((one) => [one, word('pictures', one)])}
        fault={against?.('pictures')}
        // What is so without a word stands in no file.
        onInput={(value) => set('pictures')(value === pictureTimes[0] && place.pictures === '' ? '' : value)}
      />
    </>
  );
}
