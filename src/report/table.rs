//! Tables without lines and colours: readable in a terminal, a log and a bug report.

use comfy_table::{CellAlignment, ContentArrangement, Table, presets};

/// A column's heading, and on which side its cells stand.
pub type Column<'a> = (&'a str, Align);

/// On which side of a column its cells stand.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Align {
    /// Words.
    Left,
    /// Numbers.
    Right,
}

/// The lines of a table, indented by two, without blanks at their ends. Cells never wrap: a line is a row.
pub fn table(columns: &[Column<'_>], rows: impl IntoIterator<Item = Vec<String>>) -> Vec<String> {
    let mut table = Table::new();
    table.load_style(presets::NOTHING).set_content_arrangement(ContentArrangement::Disabled);
    table.set_header(columns.iter().map(|(name, _)| *name));
    for row in rows {
        table.add_row(row);
    }
    for (column, (_, align)) in table.column_iter_mut().zip(columns) {
        column.set_padding((1, 1));
        column.set_cell_alignment(match align {
            Align::Left => CellAlignment::Left,
            Align::Right => CellAlignment::Right,
        });
    }
    table.lines().map(|line| format!(" {}", line.trim_end())).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_stand_right_words_left_and_no_line_ends_in_blanks() {
        let columns = [("topic", Align::Left), ("records", Align::Right), ("note", Align::Left)];
        let rows = [("orders", "1,234", ""), ("a", "5", "renamed")];
        let rows = rows.map(|(a, b, c)| vec![a.to_owned(), b.to_owned(), c.to_owned()]);
        assert_eq!(
            table(&columns, rows),
            ["  topic   records  note", "  orders    1,234", "  a             5  renamed",]
        );
    }
}
