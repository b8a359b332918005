import type { DetectionClass } from '#site/model/index.ts';
import { ignored, lasting, objectClasses, pulse, shortly, state, type TopicRow } from './topic-row.ts';

const tapoData: NonNullable<TopicRow['byData']> = {
  IsMotion: 'motion',
  IsPeople: 'person',
  IsVehicle: 'vehicle',
  IsPet: 'animal',
  IsIntrusion: 'intrusion',
  IsLineCross: 'line',
  IsTamper: 'tamper',
};
const tapoRow = (topic: string, detection: DetectionClass): TopicRow => ({
  topic: `RuleEngine/${topic}`,
  kind: 'state',
  detection,
  byData: tapoData,
  ...lasting,
});

/** One topic carries several classes, and the data name tells which. */
const tapo: readonly TopicRow[] = [
  tapoRow('CellMotionDetector/People', 'person'),
  tapoRow('PeopleDetector/People', 'person'),
  tapoRow('CellMotionDetector/Intrusion', 'intrusion'),
  tapoRow('CellMotionDetector/LineCross', 'line'),
  tapoRow('LineCrossDetector/LineCross', 'line'),
  tapoRow('CellMotionDetector/Tamper', 'tamper'),
  tapoRow('CellMotionDetector/TpSmartEvent', 'motion'),
  tapoRow('TPSmartEventDetector/TPSmartEvent', 'motion'),
];

const reolink: readonly TopicRow[] = [
  state('RuleEngine/MyRuleDetector/PeopleDetect', 'person', 'State', lasting),
  state('RuleEngine/MyRuleDetector/VehicleDetect', 'vehicle', 'State', lasting),
  state('RuleEngine/MyRuleDetector/DogCatDetect', 'animal', 'State', lasting),
  state('RuleEngine/MyRuleDetector/FaceDetect', 'face', 'State', lasting),
  state('RuleEngine/MyRuleDetector/Visitor', 'doorbell', 'State', shortly),
  state('RuleEngine/MyRuleDetector/Package', 'package', 'State', lasting),
];

const dahua: readonly TopicRow[] = [state('UserAlarm/IVA/HumanShapeDetect', 'person', 'State', lasting)];

const hikvision: readonly TopicRow[] = [state('VideoSource/?:SignalStandardMismatch', 'video_loss', 'State')];

const platform = (application: string) => `tnsaxis:CameraApplicationPlatform/${application}`;

const axis: readonly TopicRow[] = [
  // What an application tells of its own working beside its events.
  ignored(platform('*/xInternalData')),
  state(platform('VMD/*'), 'motion', 'active', lasting),
  state(platform('MotionGuard/*'), 'motion', 'active', lasting),
  state(platform('FenceGuard/*'), 'line', 'active', lasting),
  state(platform('LoiteringGuard/*'), 'loitering', 'active', lasting),
  state(platform('ObjectAnalytics/*'), 'intrusion', 'active', {
    byValue: { item: 'classTypes', classes: objectClasses },
    ...lasting,
  }),
  state('RuleEngine/tnsaxis:VMD3/*', 'motion', 'active', lasting),
  state('VideoAnalytics/tnsaxis:MotionDetection', 'motion', 'motion', { ...lasting }),
  state('Device/tnsaxis:IO/Port', 'input', 'state', { token: ['port'] }),
  state('Device/tnsaxis:IO/VirtualInput', 'input', 'active state', { token: ['port'] }),
  {
    topic: 'Device/tnsaxis:IO/SupervisedPort',
    kind: 'state',
    detection: 'input',
    byData: { state: 'input', tampered: 'tamper' },
    token: ['port'],
  },
  state('Device/tnsaxis:IO/OutputPort', 'relay', 'state active', { token: ['port'] }),
  state('Device/tnsaxis:Sensor/PIR', 'input', 'state', { token: ['sensor'] }),
  state('AudioSource/tnsaxis:TriggerLevel', 'sound', 'triggered', shortly),
  pulse('VideoSource/tnsaxis:Tampering', 'tamper'),
  pulse('Device/tnsaxis:Tampering/ShockDetected', 'tamper'),
  state('Device/tnsaxis:Casing/Open', 'tamper', 'Open'),
  state('Device/tnsaxis:Network/Lost', 'network_fault', 'lost', { token: ['interface'] }),
  pulse('Device/tnsaxis:Network/BlockedIP', 'access'),
  ignored('Device/tnsaxis:Network/*'),
  state('Device/tnsaxis:Status/Temperature/Above', 'hardware_fault', 'sensor_level'),
  state('Device/tnsaxis:Status/Temperature/Below', 'hardware_fault', 'sensor_level'),
  ignored('Device/tnsaxis:Status/**'),
  ignored('Device/tnsaxis:Light/Status'),
  ignored('LightControl/**'),
  ignored('PTZController/**'),
  ignored('VideoSource/tnsaxis:DayNightVision'),
  state('tnsaxis:Storage/Alert', 'storage_fault', 'alert', { token: ['disk_id'] }),
  state('tnsaxis:Storage/Disruption', 'storage_fault', 'disruption', { token: ['disk_id'] }),
];

/** The rule's name is part of the topic. Every rule an installer made is about somebody where nobody should be. */
const bosch: readonly TopicRow[] = [
  state('IVA/**', 'intrusion', 'State', lasting),
  state('RuleEngine/?:IVA/**', 'intrusion', 'State', lasting),
];

const pelco: readonly TopicRow[] = [
  pulse('RuleEngine/AbandonedObject/Triggered', 'object_left'),
  pulse('RuleEngine/AdaptiveMotion/Triggered', 'motion'),
  pulse('RuleEngine/CameraSabotage/Triggered', 'tamper'),
  pulse('RuleEngine/DirectionalMotion/Triggered', 'line'),
  pulse('RuleEngine/LoiteringDetection/Triggered', 'loitering'),
  pulse('RuleEngine/ObjectRemoval/Triggered', 'object_removed'),
  pulse('RuleEngine/StoppedVehicle/Triggered', 'vehicle'),
  ignored('RuleEngine/ObjectCounting/*'),
  ignored('RuleEngine/AutoTracker/*'),
];

const hanwha: readonly TopicRow[] = [state('VideoAnalytics/?:MotionDetection', 'motion', 'State', lasting)];

const bell: DetectionClass = 'doorbell';
/** One topic for all alarms of the camera; only the bell is known by its word. */
const mobotix: readonly TopicRow[] = [
  pulse('VideoSource/Alarm', 'other', { byValue: { classes: { ring: bell, camerabellbutton: bell } } }),
];

const ajax: readonly TopicRow[] = [
  state('RuleEngine/?:MotionDetector/Detection', 'motion', 'Detected', lasting),
  pulse('RuleEngine/?:LineDetector/Crossing', 'line'),
  pulse('RuleEngine/?:ObjectDetector/Detection', 'intrusion', { byValue: { classes: objectClasses } }),
];

/** By the name people know the vendor by. */
export const vendorTables: Readonly<Record<string, readonly TopicRow[]>> = {
  'TP-Link Tapo and VIGI': tapo,
  Reolink: reolink,
  'Dahua, Amcrest, Lorex': dahua,
  Hikvision: hikvision,
  Axis: axis,
  Bosch: bosch,
  Pelco: pelco,
  'Samsung and Hanwha': hanwha,
  Mobotix: mobotix,
  Ajax: ajax,
};

export const vendorTopics: readonly TopicRow[] = Object.values(vendorTables).flat();
