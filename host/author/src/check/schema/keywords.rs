//! The keywords of JSON Schema, and what each must hold. Knows nothing of where they stand.

/// What `type` can name.
pub(super) const TYPES: [&str; 7] = ["array", "boolean", "integer", "null", "number", "object", "string"];

/// What a keyword must hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Holds {
    Anything,
    Type,
    Text,
    Truth,
    Number,
    PositiveNumber,
    Count,
    List,
    Names,
    NamesByName,
    Object,
    Schema,
    Schemas,
    SchemasByName,
    /// A schema; before 2020-12 also a list of them.
    Items,
    /// Each of a schema or of names.
    Dependencies,
    Reference,
}

/// Every keyword.
pub(super) const KEYWORDS: [(&str, Holds); 59] = [
    ("$anchor", Holds::Text),
    ("$comment", Holds::Text),
    ("$defs", Holds::SchemasByName),
    ("$dynamicAnchor", Holds::Text),
    ("$dynamicRef", Holds::Reference),
    ("$id", Holds::Text),
    ("$ref", Holds::Reference),
    ("$schema", Holds::Text),
    ("$vocabulary", Holds::Object),
    ("additionalItems", Holds::Schema),
    ("additionalProperties", Holds::Schema),
    ("allOf", Holds::Schemas),
    ("anyOf", Holds::Schemas),
    ("const", Holds::Anything),
    ("contains", Holds::Schema),
    ("contentEncoding", Holds::Text),
    ("contentMediaType", Holds::Text),
    ("contentSchema", Holds::Schema),
    ("default", Holds::Anything),
    ("definitions", Holds::SchemasByName),
    ("dependencies", Holds::Dependencies),
    ("dependentRequired", Holds::NamesByName),
    ("dependentSchemas", Holds::SchemasByName),
    ("deprecated", Holds::Truth),
    ("description", Holds::Text),
    ("else", Holds::Schema),
    ("enum", Holds::List),
    ("examples", Holds::List),
    ("exclusiveMaximum", Holds::Number),
    ("exclusiveMinimum", Holds::Number),
    ("format", Holds::Text),
    ("if", Holds::Schema),
    ("items", Holds::Items),
    ("maxContains", Holds::Count),
    ("maxItems", Holds::Count),
    ("maxLength", Holds::Count),
    ("maxProperties", Holds::Count),
    ("maximum", Holds::Number),
    ("minContains", Holds::Count),
    ("minItems", Holds::Count),
    ("minLength", Holds::Count),
    ("minProperties", Holds::Count),
    ("minimum", Holds::Number),
    ("multipleOf", Holds::PositiveNumber),
    ("not", Holds::Schema),
    ("oneOf", Holds::Schemas),
    ("pattern", Holds::Text),
    ("patternProperties", Holds::SchemasByName),
    ("prefixItems", Holds::Schemas),
    ("properties", Holds::SchemasByName),
    ("propertyNames", Holds::Schema),
    ("readOnly", Holds::Truth),
    ("required", Holds::Names),
    ("then", Holds::Schema),
    ("title", Holds::Text),
    ("type", Holds::Type),
    ("unevaluatedItems", Holds::Schema),
    ("unevaluatedProperties", Holds::Schema),
    ("uniqueItems", Holds::Truth),
];

impl Holds {
    /// The same in words.
    pub(super) const fn words(self) -> &'static str {
        match self {
            Holds::Anything => "a value",
            Holds::Type => "a type's name",
            Holds::Text | Holds::Reference => "a text",
            Holds::Truth => "true or false",
            Holds::Number => "a number",
            Holds::PositiveNumber => "a number greater than 0",
            Holds::Count => "a whole number, not below 0",
            Holds::List => "a list",
            Holds::Names => "a list of names, none of them twice",
            Holds::NamesByName => "an object with a list of names for each name",
            Holds::Object => "an object",
            Holds::Schema | Holds::Items => "a schema",
            Holds::Schemas => "a list of schemas, and not an empty one",
            Holds::SchemasByName | Holds::Dependencies => "an object with a schema for each name",
        }
    }
}
