package strict

// ManyValues says whether a JSON text may have more than most values, without taking it apart: every value but the first stands
// behind one of , : [ and { outside of a text. Taken apart, a value takes up to a hundred times the memory of its text.
func ManyValues(text []byte, most int) bool {
	if len(text) <= most {
		return false
	}
	inText := false
	for i := 0; i < len(text) && most > 0; i++ {
		switch c := text[i]; {
		case c == '"':
			inText = !inText
		case inText && c == '\\':
			i++
		case !inText && (c == ',' || c == '[' || c == '{' || c == ':'):
			most--
		}
	}
	return most <= 0
}
