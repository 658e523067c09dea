// The benchmarks' tool in JavaScript, for QuickJS (docs/benchmarks.md says how it is built).
const schema = { type: 'object', properties: { text: { type: 'string' } }, required: ['text'] };

export const tool = {
  listTools() {
    const definition = { name: 'work', description: 'Say what is given.', effect: 'pure' };
    return [{ ...definition, inputSchema: JSON.stringify(schema) }];
  },
  call(name, input) {
    return [{ tag: 'text', val: JSON.parse(input).text }];
  },
};
