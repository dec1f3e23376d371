"""From files of any format to tables of columns, which layouts give a meaning."""
