//! Macros that the generated records.rs declares its types with. They implement `Field`, with parts in the order in which they cross.

/// An enum whose variants have no fields. Variants after `..` never cross.
macro_rules! names {
    ($type:ty { $($name:literal => $variant:ident),* $(, $(..$others:tt)?)? }) => {
        impl Field for $type {
            fn read(t: &mut TextReader<'_>) -> Decoded<Self> {
                Ok(match t.word()? {
                    $($name => Self::$variant,)*
                    _ => return Err(Malformed(concat!("an unknown ", stringify!($type)))),
                })
            }

            fn write(&self, out: &mut TextWriter) {
                out.text(match *self {
                    $(Self::$variant => $name,)*
                    $($($others => "?",)?)?
                })
            }
        }
    };
}

/// A struct. Fields after `;` do not cross.
macro_rules! fields {
    ($type:ty { $($field:ident),* $(; $($rest:ident: $value:expr),*)? }) => {
        impl Field for $type {
            fn read(t: &mut TextReader<'_>) -> Decoded<Self> {
                Ok(Self { $($field: t.read()?,)* $($($rest: $value,)*)? })
            }

            fn write(&self, out: &mut TextWriter) {
                $(self.$field.write(out);)*
            }
        }
    };
}

/// An enum with a tag for each variant.
macro_rules! variants {
    ($type:ty { $($tag:literal => $variant:ident $({ $($field:ident),* })? $(( $($item:ident),* ))?),* }) => {
        impl Field for $type {
            fn read(t: &mut TextReader<'_>) -> Decoded<Self> {
                Ok(match t.word()? {
                    $($tag => Self::$variant $({ $($field: t.read()?),* })? $(( $({ let $item = t.read()?; $item }),* ))?,)*
                    _ => return Err(Malformed(concat!("an unknown ", stringify!($type)))),
                })
            }

            fn write(&self, out: &mut TextWriter) {
                match self {
                    $(Self::$variant $({ $($field),* })? $(( $($item),* ))? => {
                        out.text($tag);
                        $($($field.write(out);)*)?
                        $($($item.write(out);)*)?
                    })*
                }
            }
        }
    };
}

pub(crate) use {fields, names, variants};
