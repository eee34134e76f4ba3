"""Documents and results as text: tables, Markdown, CSV, HTML reports, charts."""
